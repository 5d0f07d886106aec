"""Control groups (version 2): limits on a program together with everything that it starts,
regardless of its user.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from itertools import count
from pathlib import Path

from loguru import logger

from nanobot.errors import ToolError
from nanobot.plugins.shell.sandbox.view import SandboxLimits
from nanobot.text import Sentence, pattern

LEAF = "gateway"
"""The gateway's own group inside the group that was delegated to it: a group with limited subgroups
cannot contain processes. systemd's DelegateSubgroup creates it.
"""

_NEEDED = ("memory", "pids")
_PREFIX = "nanobot-"
_OURS = pattern(rf"{_PREFIX}(\d+)-\d+")
# The shell moves itself before it becomes the program, so that nothing starts outside.
_JOIN = 'echo 0 > "$0" && exec "$@"'
_MOST_PARENTS = 64


class NoControlGroups(OSError):
    """Why a program cannot have a group, for a person to read."""


class ControlGroups:
    """Groups for programs under `base`, if memory and processes can be limited there."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self._numbers = count(1)
        self._left: set[Path] = set()
        for folder in base.glob(f"{_PREFIX}*"):
            match = _OURS.fullmatch(folder.name)
            if match and not Path("/proc", match[1]).exists():
                self._end(folder)

    @contextmanager
    def joined(self, words: Sequence[str], limits: SandboxLimits) -> Iterator[list[str]]:
        """The command, run in its own group. At the end everything in the group is killed. Raises
        OSError if the group cannot be created.
        """
        for folder in list(self._left):
            self._end(folder)
        folder = self.base / f"{_PREFIX}{os.getpid()}-{next(self._numbers)}"
        folder.mkdir()
        try:
            (folder / "pids.max").write_text(str(limits.processes))
            (folder / "memory.max").write_text(str(limits.memory_kib * 1024))
            # Not every kernel accounts for swap. Kill the whole group: without one victim the rest
            # would not work.
            for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
                with suppress(OSError):
                    (folder / name).write_text(value)
            yield ["/bin/sh", "-c", _JOIN, str(folder / "cgroup.procs"), *words]
        finally:
            self._end(folder)

    def _end(self, folder: Path) -> None:
        """Kill all processes in a group and remove it; if some are still dying, it is removed
        later.
        """
        with suppress(OSError):
            (folder / "cgroup.kill").write_text("1")
        try:
            folder.rmdir()
        except FileNotFoundError:
            self._left.discard(folder)
        except OSError:
            self._left.add(folder)
        else:
            self._left.discard(folder)


def find_control_groups(proc: Path = Path("/proc"), user: int | None = None) -> ControlGroups:
    """The control groups that this process may create, as `user` (None: its own user): under the
    group delegated to it (it moves into a subgroup there), or for root at the top. Raises
    NoControlGroups.
    """
    user = os.geteuid() if user is None else user
    mount, own = _mounted(proc)
    candidates = [own.parent] if own.name == LEAF else [own]
    candidates += [mount] if user == 0 and mount not in candidates else []
    reasons = []
    for base in candidates:
        try:
            _enable(base, proc)
        except OSError as error:
            reasons.append(
                str(error) if isinstance(error, NoControlGroups) else _reason(base, error)
            )
        else:
            return ControlGroups(base)
    raise NoControlGroups(reasons[-1])


@lru_cache(maxsize=1)
def _groups() -> ControlGroups | str:
    try:
        groups = find_control_groups()
    except NoControlGroups as error:
        return str(error)
    logger.info("what a command uses in all is limited, in control groups below {}", groups.base)
    return groups


def no_groups() -> Sentence:
    """Why this process cannot create control groups; "" if it can."""
    groups = _groups()
    return groups if isinstance(groups, str) else ""


@contextmanager
def grouped(words: Sequence[str], limits: SandboxLimits) -> Iterator[list[str]]:
    """The command in its own control group, if groups are available. Raises ToolError."""
    groups = _groups()
    # A missing program has to fail where it is started, not in the shell that joins the group.
    if isinstance(groups, str) or shutil.which(words[0]) is None:
        yield [*words]
        return
    with ExitStack() as stack:
        try:
            joined = stack.enter_context(groups.joined(words, limits))
        except OSError as error:
            raise ToolError(f"no control group can be made for the command: {error}") from error
        yield joined


def _mounted(proc: Path) -> tuple[Path, Path]:
    """Where cgroup2 is mounted, and this process's group there."""
    try:
        mounts = (proc / "self" / "mountinfo").read_text("utf-8", "replace").splitlines()
        groups = (proc / "self" / "cgroup").read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise NoControlGroups(_reason(proc, error)) from error
    own = next((line[3:] for line in groups if line.startswith("0::/")), None)
    for line in mounts:
        fields, _, kind = line.partition(" - ")
        if kind.startswith("cgroup2 ") and own is not None:
            root, mount = fields.split()[3:5]
            inner = os.path.relpath(own, root)
            return Path(mount), Path(mount) if inner.startswith("..") else Path(mount, inner)
    raise NoControlGroups("this machine has no control groups of version 2")


def _enable(base: Path, proc: Path) -> None:
    if not os.access(base / "cgroup.subtree_control", os.W_OK):
        raise NoControlGroups(f"the control group {base} is not delegated to this user")
    controllers = (base / "cgroup.controllers").read_text().split()
    lacking = [name for name in _NEEDED if name not in controllers]
    if lacking:
        raise NoControlGroups(f"the control group {base} does not count {', '.join(lacking)}")
    control = base / "cgroup.subtree_control"
    if set(_NEEDED) <= set(control.read_text().split()):
        return
    # The root of the hierarchy may contain processes, and has no such file.
    if (base / "cgroup.type").exists():
        _move_out(base, proc)
    control.write_text(" ".join(f"+{name}" for name in _NEEDED))


def _move_out(base: Path, proc: Path) -> None:
    """Move this process, and the processes it started, into a subgroup."""
    numbers = [int(line) for line in (base / "cgroup.procs").read_text().split()]
    if any(not _is_ours(number, proc) for number in numbers):
        raise NoControlGroups(f"the control group {base} holds processes of others")
    leaf = base / LEAF
    leaf.mkdir(exist_ok=True)
    for number in numbers:
        with suppress(ProcessLookupError):
            (leaf / "cgroup.procs").write_text(str(number))


def _is_ours(number: int, proc: Path) -> bool:
    return os.getpid() in _ancestors(number, proc)


def _ancestors(number: int, proc: Path) -> Iterable[int]:
    for _ in range(_MOST_PARENTS):
        yield number
        try:
            status = (proc / str(number) / "stat").read_text("utf-8", "replace")
        except OSError:
            return
        number = int(status.rpartition(")")[2].split()[1])


def _reason(path: Path, error: OSError) -> Sentence:
    return f"{error.filename or path}: {error.strerror}"
