"""Landlock around programs: a second wall inside bubblewrap, and the only wall if bubblewrap does
not work.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nanobot.plugins.common.walls import SandboxView
from nanobot.plugins.shell.sandbox import landlock
from nanobot.plugins.shell.sandbox.own_files import own_files
from nanobot.plugins.shell.sandbox.seccomp import system_call_filter
from nanobot.plugins.shell.sandbox.view import ETC, SEARCH_PATH, SYSTEM
from nanobot.text import Sentence

INSIDE = Path("/.nanobot-landlock")
"""The path in the sandbox of the program that sets up the wall."""

# Only the parts of /proc that reveal nothing about other processes: root could read the kernel's
# memory there.
_PROC = (
    *("cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "self", "stat", "uptime"),
    *("version", "sys/kernel/osrelease", "sys/kernel/random", "sys/kernel/pid_max"),
    *("sys/kernel/cap_last_cap", "sys/kernel/ngroups_max", "sys/vm/overcommit_memory"),
)
_DEVICES = ("full", "null", "random", "urandom", "zero")
_INTERNET = (2, 10, 16)  # IPv4, IPv6, and the kernel's family for inspecting interfaces


@lru_cache(maxsize=1)
def landlock_version() -> int:
    """The version of this kernel's Landlock; 0 if it has none."""
    return landlock.version() if sys.platform == "linux" else 0


def second_wall() -> Sentence:
    """The protection that Landlock adds inside bubblewrap here; "" if none."""
    version = landlock_version()
    return f"Landlock (version {version}) for files" if version >= landlock.SINCE_MOVES else ""


def no_wall_alone() -> Sentence | None:
    """None if Landlock can protect files without bubblewrap, otherwise the reason.

    Before version 3, every file of the user could be truncated; without a filter of system calls,
    the control socket is reachable.
    """
    version = landlock_version()
    if version < landlock.SINCE_TRUNCATE:
        return f"Landlock cannot be the only wall (version {version}, 3 is needed)"
    if system_call_filter() is None:
        return "system calls cannot be filtered on this machine"
    return None


class Interpreter(NamedTuple):
    """A Python that can run in the sandbox, with the files it needs beyond the system's."""

    python: str
    library: tuple[Path, ...] = ()


def interpreters() -> Iterator[Interpreter]:
    """The candidates: the distribution's Python, then ours."""
    program = shutil.which("python3", path=SEARCH_PATH)
    if program is not None and any(Path(program).resolve().is_relative_to(top) for top in SYSTEM):
        yield Interpreter(program)
    ours = Path(sys.executable).resolve()
    yield Interpreter(str(ours), tuple(own_files(ours, (Path.home(),))))


def words_within(inner: Interpreter, view: SandboxView) -> list[str]:
    """The command that runs a program behind the second wall, in bubblewrap's view."""
    grants = ["l=/", *_system(), "r=/proc", "d=/dev", "w=/tmp"]
    grants += [f"r={path}" for path in (*view.read, *view.read_only)]
    grants += [f"w={path}" for path in (*view.write, *view.empty)]
    grants += [] if view.folder is None else [f"w={view.folder}"]
    return [inner.python, "-I", "-S", str(INSIDE), "0", "-", *grants, "--"]


class AloneWall:
    """The command that runs a program behind Landlock only. It needs `environment`, and inherits
    `descriptors`.
    """

    def __init__(self, view: SandboxView, folder: str, filtered: int) -> None:
        hidden = (*view.hidden, *view.read_only)
        grants = [*_system(), f"w={folder}"]
        grants += [f"r=/proc/{name}" for name in _PROC] + ["r=/sys/devices/system/cpu"]
        grants += [f"d=/dev/{name}" for name in _DEVICES]
        grants += [f"r={path}" for path in (*view.read, *view.read_only)]
        for path in (*view.write, *view.empty, *(() if view.folder is None else (view.folder,))):
            grants += _without("w", path.resolve(), [place.resolve() for place in hidden])
        script = landlock.__file__
        least = str(landlock.SINCE_TRUNCATE)
        python = [sys.executable, "-I", "-S"]
        self.words: list[str] = [*python, script, least, str(filtered), *grants, "--"]
        # Git fails if it may not read the system's configuration.
        self.environment: dict[str, str] = {"TMPDIR": folder, "GIT_CONFIG_NOSYSTEM": "1"}
        self.descriptors: tuple[int, ...] = (filtered,)


@asynccontextmanager
async def alone(view: SandboxView) -> AsyncIterator[AloneWall]:
    """The wall without bubblewrap, with a folder for temporary files that is deleted at the end.

    Other processes are visible, but not their memory. Internet sockets work if the view has a
    network; local ones do not. If a folder contains something read-only or hidden, its other
    current entries stay writable, but no new ones can be created there.
    """
    families = () if view.network.mode == "none" else _INTERNET
    folder = tempfile.mkdtemp(prefix="nanobot-")
    try:
        with readable(system_call_filter(families=families)) as filtered:
            yield AloneWall(view, folder, -1 if filtered is None else filtered)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def readable(content: bytes | None) -> Iterator[int | None]:
    """The descriptor of an open file with that content."""
    if content is None:
        yield None
        return
    with os.fdopen(os.memfd_create("filter"), "w+b", buffering=0) as file:
        file.write(content)
        file.seek(0)
        yield file.fileno()


def _system() -> list[str]:
    return [*(f"r={path}" for path in SYSTEM), *(f"r=/etc/{name}" for name in ETC)]


def _without(kind: str, top: Path, excepted: Sequence[Path]) -> Iterator[str]:
    """Grants for everything under a folder except some paths: rules can only add access."""
    if top in excepted:
        return
    if not any(path.is_relative_to(top) for path in excepted):
        yield f"{kind}={top}"
        return
    with suppress(OSError):
        for entry in sorted(top.iterdir()):
            if not entry.is_symlink():
                yield from _without(kind, entry, excepted)
