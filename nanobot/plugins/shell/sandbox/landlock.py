"""Becomes the program in its arguments, with access only to the paths that they name.

It is run by its path, by any available Python, with only the standard library:

    python -I -S landlock.py LEAST FILTER r=PATH w=PATH d=PATH ... -- PROGRAM ...

The kernel's Landlock denies the program, and everything it starts, every file that is not under a
PATH: l means list, r read and run, w also write, d a device. If the kernel supports it, abstract
unix sockets and signals cannot reach processes outside. LEAST is the minimum version of Landlock,
without which the program does not start (0: it starts without Landlock). FILTER is the descriptor
of an open file with a system call filter, or "-". Paths that do not exist grant nothing. Exits with
125 and one line on standard error if it fails.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _BENEATH = 1, 1
_NO_NEW_PRIVILEGES, _SET_FILTER = 38, 22
_FAILED = 125

_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE = 1 << 4 | 1 << 5
_MAKE_DEVICE = 1 << 6 | 1 << 11
_MAKE = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12  # folder, file, socket, pipe, link
_MOVE, _TRUNCATE, _CONTROL = 1 << 13, 1 << 14, 1 << 15
_SOCKETS_AND_SIGNALS = 1 << 0 | 1 << 1

_HANDLED = {
    1: _EXECUTE | _WRITE | _READ | _LIST | _REMOVE | _MAKE_DEVICE | _MAKE,
    2: _MOVE,
    3: _TRUNCATE,
    5: _CONTROL,
}
_READING = _EXECUTE | _READ | _LIST
_WRITING = _READING | _WRITE | _TRUNCATE | _REMOVE | _MAKE | _MOVE
_GRANTED = {"l": _LIST, "r": _READING, "w": _WRITING, "d": _WRITING | _CONTROL}
_OF_FILES = _EXECUTE | _READ | _WRITE | _TRUNCATE | _CONTROL
_SINCE_SCOPES, _SINCE_NETWORK, SINCE_MOVES = 6, 4, 2
SINCE_TRUNCATE = 3
"""Before version 2 files cannot be moved to other folders; before 3 all can be truncated."""


def version() -> int:
    """The version of the kernel's Landlock; 0 if it has none."""
    try:
        return max(int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)), 0)
    except (AttributeError, OSError):
        return 0


def main(arguments: list[str]) -> None:
    """Become the program. Raises OSError."""
    end = arguments.index("--")
    least, filtered, *grants = arguments[:end]
    command = arguments[end + 1 :]
    c = ctypes.CDLL(None, use_errno=True)
    abi = version()
    if abi < int(least):
        raise OSError(f"the kernel's Landlock is version {abi}, {least} is needed")
    _checked(c.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if abi >= SINCE_MOVES:
        _restrict(c, abi, grants)
    if filtered != "-":
        _filter(c, int(filtered))
    os.execv(command[0], command)  # noqa: S606 - what it is for


def handled_by(abi: int) -> int:
    """The rights that a version of Landlock knows and can therefore deny."""
    rights = 0
    for since, more in _HANDLED.items():
        rights |= more if since <= abi else 0
    return rights


def _restrict(c: ctypes.CDLL, abi: int, grants: list[str]) -> None:
    handled = handled_by(abi)
    scopes = _SOCKETS_AND_SIGNALS if abi >= _SINCE_SCOPES else 0
    size = 24 if abi >= _SINCE_SCOPES else 16 if abi >= _SINCE_NETWORK else 8
    attributes = struct.pack("QQQ", handled, 0, scopes)[:size]
    ruleset = _checked(c.syscall(_CREATE_RULESET, attributes, size, 0))
    for grant in grants:
        kind, _, path = grant.partition("=")
        _grant(c, ruleset, path, _GRANTED[kind] & handled)
    _checked(c.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _grant(c: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= _OF_FILES
    rule = struct.pack("=Qi", rights, descriptor)
    _checked(c.syscall(_ADD_RULE, ruleset, _BENEATH, rule, 0))
    os.close(descriptor)


def _filter(c: ctypes.CDLL, descriptor: int) -> None:
    """Install the filter, for this program and the one that it becomes."""
    with os.fdopen(descriptor, "rb") as file:
        content = ctypes.create_string_buffer(file.read())
    pointer = ctypes.addressof(content)
    program = struct.pack("HxxxxxxQ", (len(content) - 1) // 8, pointer)
    _checked(c.prctl(_SET_FILTER, 2, program, 0, 0))


def _checked(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError, KeyError) as error:
        sys.stderr.write(f"the sandbox cannot be made: {error}\n")
        sys.exit(_FAILED)
