"""The service manager of this machine: systemd (of the user, or of the system) or launchd."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from nanobot.errors import NanobotError, UsageError
from nanobot.plugins.setup.service.definition import LABEL, UNIT, Definition

_SECONDS = 60.0


class Manager(Protocol):
    """A service manager of this machine. Every verb raises NanobotError with the manager's own
    message.
    """

    file: Path

    def install(self, definition: Definition, variables: Mapping[str, str]) -> None:
        """Start it now and enable it; update an installed one. If that fails, restore the previous
        state.
        """

    def restart(self) -> None:
        """Restart an installed service."""

    def uninstall(self) -> bool:
        """Stop and remove it; returns whether there was one. It is removed even if it cannot be
        stopped; the error says so.
        """

    def status(self) -> str:
        """Its state in the manager's own words; empty if it is not installed."""

    def is_active(self) -> bool:
        """Whether it is running."""


def manager_of(platform: str, environ: Mapping[str, str], *, system: bool) -> Manager:
    """The manager of this machine. Raises UsageError if there is no supported one."""
    if platform == "darwin":
        if system:
            raise UsageError("--system is for systemd; on macOS the service runs for its user")
        return Launchd(environ)
    if platform.startswith("linux") and shutil.which("systemctl", path=environ.get("PATH")):
        return Systemd(environ, system=system)
    raise UsageError(
        "there is no systemd or launchd here. Have whatever starts programs on this machine run "
        "`nanobot gateway`, restart it when it ends with 1, and stop it with SIGTERM"
    )


def installed(platform: str, environ: Mapping[str, str]) -> list[Manager]:
    """The managers that run nanobot as a service here: of the user, and of the machine for root."""
    managers = []
    for system in (False, True):
        with suppress(UsageError):
            managers.append(manager_of(platform, environ, system=system))
    return [manager for manager in managers if manager.file.exists()]


class Systemd:
    """systemd. A user's services stop at logout unless lingering is on, so it is enabled."""

    def __init__(self, environ: Mapping[str, str], *, system: bool) -> None:
        if system and os.geteuid() != 0:
            raise UsageError("--system needs root: run it with sudo, and name --user")
        self._environ = dict(environ)
        self._system = system
        config = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", "~")) / ".config"
        folder = Path("/etc/systemd/system") if system else Path(config) / "systemd" / "user"
        self.file = folder.expanduser() / UNIT

    def install(self, definition: Definition, variables: Mapping[str, str]) -> None:
        """Write unit and environment, enable, restart."""
        unit = definition.unit()
        before = {each: _content(each) for each in (self.file, definition.environment)}
        write_private(definition.environment, environment_text(variables), definition.user)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(unit, "utf-8")
        try:
            self._call("daemon-reload")
            self._call("enable", UNIT)
            self._call("restart", UNIT)
        except NanobotError:
            self._undo(before, definition.user)
            raise
        if not self._system and shutil.which("loginctl", path=self._environ.get("PATH")):
            self._run(["loginctl", "enable-linger"])

    def restart(self) -> None:
        """Its installed state."""
        self._call("restart", UNIT)

    def _undo(self, before: Mapping[Path, str | None], user: str) -> None:
        """Restore the previous files, and make systemd forget a unit that did not exist before."""
        if before[self.file] is None:
            self._quietly("disable", "--now", UNIT)
        for file, text in before.items():
            if text is None:
                file.unlink(missing_ok=True)
            elif file == self.file:
                file.write_text(text, "utf-8")
            else:
                write_private(file, text, user)
        self._quietly("daemon-reload")

    def uninstall(self) -> bool:
        """Disable, stop, remove the unit and the link that starts it."""
        if not self.file.exists():
            return False
        try:
            self._call("disable", "--now", UNIT)
        except NanobotError as error:
            raise NanobotError(
                f"{self.file} is removed, but the service may still run: {error}"
            ) from None
        finally:
            self.file.unlink()
            for wants in self.file.parent.glob("*.wants"):
                (wants / UNIT).unlink(missing_ok=True)
            self._quietly("daemon-reload")
        return True

    def status(self) -> str:
        """The state, and since when."""
        if not self.file.exists():
            return ""
        shown = self._run([*self._systemctl(), "status", "--no-pager", "--lines=5", UNIT])
        return (shown.stdout or shown.stderr).strip()

    def is_active(self) -> bool:
        """Whether it is running."""
        return self._run([*self._systemctl(), "is-active", "--quiet", UNIT]).returncode == 0

    @property
    def scope(self) -> list[str]:
        """The option that systemd's programs need for a user's service."""
        return [] if self._system else ["--user"]

    def _systemctl(self) -> list[str]:
        return ["systemctl"] if self._system else ["systemctl", "--user"]

    def _quietly(self, *words: str) -> None:
        """Like `_call`, but for use after another failure, which is the one to report."""
        with suppress(NanobotError):
            self._call(*words)

    def _call(self, *words: str) -> None:
        done = self._run([*self._systemctl(), *words])
        if done.returncode != 0:
            raise NanobotError(f"systemctl {' '.join(words)}: {_words(done)}")

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return run(command, self._environ)


class Launchd:
    """launchd of macOS, for the logged-in user."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        home = Path(environ.get("HOME", "~")).expanduser()
        self.file = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        self._domain = f"gui/{os.getuid()}"

    def install(self, definition: Definition, variables: Mapping[str, str]) -> None:
        """Write the job, and reload it."""
        logs = definition.home / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        before = _content(self.file)
        write_private(self.file, definition.job(variables, logs).decode(), "")
        run(["launchctl", "bootout", f"{self._domain}/{LABEL}"], self._environ)
        load = ["launchctl", "bootstrap", self._domain, str(self.file)]
        done = run(load, self._environ)
        if done.returncode != 0:
            self.file.unlink()
            if before is not None:
                write_private(self.file, before, "")
                run(load, self._environ)
            raise NanobotError(f"launchctl bootstrap: {_words(done)}")

    def restart(self) -> None:
        """The loaded job."""
        done = run(["launchctl", "kickstart", "-k", f"{self._domain}/{LABEL}"], self._environ)
        if done.returncode != 0:
            raise NanobotError(f"launchctl kickstart: {_words(done)}")

    def uninstall(self) -> bool:
        """Unload the job, and remove it."""
        if not self.file.exists():
            return False
        run(["launchctl", "bootout", f"{self._domain}/{LABEL}"], self._environ)
        self.file.unlink()
        return True

    def status(self) -> str:
        """The output of launchd for the job."""
        if not self.file.exists():
            return ""
        shown = run(["launchctl", "print", f"{self._domain}/{LABEL}"], self._environ)
        return (shown.stdout or shown.stderr).strip()

    def is_active(self) -> bool:
        """Whether launchd says that the job is running."""
        shown = run(["launchctl", "print", f"{self._domain}/{LABEL}"], self._environ)
        return shown.returncode == 0 and "state = running" in shown.stdout


def _content(file: Path) -> str | None:
    """The text of a file; None if it does not exist."""
    return file.read_text("utf-8") if file.exists() else None


def environment_text(variables: Mapping[str, str]) -> str:
    """KEY="VALUE" lines as systemd.exec(5) parses them, with values of any content."""
    lines = []
    for name, value in variables.items():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`")
        lines.append(f'{name}="{escaped.replace("$", chr(92) + "$")}"\n')
    return "".join(lines)


def write_private(file: Path, text: str, user: str) -> None:
    """Write a file with secrets: never readable by others, not even while it is being written."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
    if user:
        shutil.chown(file, user)


def run(command: list[str], environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a manager's own program; raises NanobotError if it cannot be started or hangs."""
    try:
        return subprocess.run(  # noqa: S603 - a fixed program
            command,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env=dict(environ),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NanobotError(f"{command[0]} could not be run: {error}") from error


def _words(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr or done.stdout).strip() or f"ended with {done.returncode}"
