"""The definition of the gateway for a service manager: a systemd unit, or a launchd job."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from nanobot.errors import ConfigError

LABEL = "nanobot.gateway"
UNIT = "nanobot.service"
# Exit codes that a restart would not fix: wrong usage, wrong configuration.
_HOPELESS = "2 3"
_SPARE_SECONDS = 30


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway of one home. `command` starts it."""

    home: Path
    command: tuple[str, ...]
    writable: tuple[Path, ...]
    """The folders it writes to."""
    environment: Path
    """A file of KEY=VALUE lines."""
    path: str
    drain_seconds: float
    user: str = ""
    """The user of a system service."""

    def unit(self) -> str:
        """The systemd unit. Raises ConfigError for a path that a unit cannot contain."""
        lines = [
            "[Unit]",
            "Description=nanobot, an assistant that lives where its people talk",
            "After=network-online.target",
            "Wants=network-online.target",
            "# An outage of a day must not end in a service that is given up.",
            "StartLimitIntervalSec=0",
            "",
            "[Service]",
            "Type=exec",
            f"ExecStart={' '.join(_word(part.replace('$', '$$')) for part in self.command)}",
            f"Environment={_word(f'NANOBOT_HOME={self.home}')}",
            f"Environment={_word(f'PATH={self.path}')}",
            f"EnvironmentFile=-{_path(self.environment)}",
            *([f"User={self.user}"] if self.user else []),
            "Restart=on-failure",
            "RestartSec=5",
            f"RestartPreventExitStatus={_HOPELESS}",
            "# SIGTERM drains: running answers finish, others resume at the next start.",
            "KillMode=mixed",
            f"TimeoutStopSec={self.drain_seconds + _SPARE_SECONDS:g}",
            "UMask=0077",
            "NoNewPrivileges=yes",
            "# Each command of the assistant gets a separate control group, with limits.",
            "Delegate=memory pids",
            *(self._confined() if self.user else []),
            "",
            "[Install]",
            f"WantedBy={'multi-user.target' if self.user else 'default.target'}",
            "",
        ]
        return "\n".join(lines)

    def _confined(self) -> list[str]:
        """Options that a user's own manager cannot guarantee. /proc and namespaces stay available:
        the assistant's commands run in a sandbox that needs both.
        """
        return [
            "ProtectSystem=strict",
            *(f"ReadWritePaths={_word(str(folder))}" for folder in self.writable),
            "PrivateTmp=yes",
            "PrivateDevices=yes",
            "ProtectClock=yes",
            "ProtectHostname=yes",
            "RestrictSUIDSGID=yes",
            "RestrictRealtime=yes",
            "LockPersonality=yes",
            "CapabilityBoundingSet=",
            "SystemCallArchitectures=native",
        ]

    def job(self, variables: Mapping[str, str], logs: Path) -> bytes:
        """The launchd job, which has no file for its environment, so it contains `variables`."""
        return plistlib.dumps(
            {
                "Label": LABEL,
                "ProgramArguments": list(self.command),
                "EnvironmentVariables": {
                    "NANOBOT_HOME": str(self.home),
                    "PATH": self.path,
                    **variables,
                },
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "ThrottleInterval": 5,
                "ExitTimeOut": round(self.drain_seconds + _SPARE_SECONDS),
                "Umask": 0o077,
                "StandardOutPath": str(logs / "gateway.out"),
                "StandardErrorPath": str(logs / "gateway.log"),
            }
        )


def _word(text: str) -> str:
    """One word in a unit's line (systemd.syntax(7), systemd.unit(5) for %)."""
    _whole(text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _path(path: Path) -> str:
    """A path as the value of a whole line: only % is escaped there."""
    _whole(str(path))
    return str(path).replace("%", "%%")


def _whole(text: str) -> None:
    if any(ord(character) < ord(" ") for character in text):
        raise ConfigError(
            f"{text!r} has a line break or another control character, which no unit can hold: "
            "rename that folder"
        )
