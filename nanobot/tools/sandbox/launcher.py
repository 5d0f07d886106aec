"""Becomes the program in its arguments, in a network of its own if that is wanted.

Run by its path, with nothing but Python's own library:

    python -I -S launcher.py SOCKET PORT PROGRAM ...

SOCKET is the number of a unix socket, or "-". With one, the process leaves the network of the
machine, its abstract sockets included, for a new one with loopback alone. There it listens on PORT,
and hands the listening socket back through SOCKET: whoever has it answers from outside. Either way,
where the kernel knows it, nothing that comes after reaches abstract unix sockets or signals
processes outside. Exits with 125 and one line on its standard error if it cannot be done.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from fcntl import ioctl
from pathlib import Path

_NEW_USER, _NEW_NETWORK = 0x1000_0000, 0x4000_0000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_INTERFACE = "16sh14x"
_BACKLOG = 128
_NO_NEW_PRIVILEGES = 38
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_ASK_VERSION, _SCOPES_SINCE = 1, 6
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2
_FAILED = 125


def main(arguments: list[str]) -> None:
    """Become the program. Raises OSError."""
    report, port, *command = arguments
    c = ctypes.CDLL(None, use_errno=True)
    if report != "-":
        _leave_network(c)
        with socket.socket(fileno=int(report)) as back:
            _listen(back, int(port))
    _limit_scope(c)
    os.execv(command[0], command)  # noqa: S606 - what it is for


def _leave_network(c: ctypes.CDLL) -> None:
    user, group = os.geteuid(), os.getegid()
    if c.unshare(_NEW_USER | _NEW_NETWORK) == 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    elif c.unshare(_NEW_NETWORK) != 0:  # where users have no namespaces, root has
        error = ctypes.get_errno()
        raise OSError(error, f"no network of its own: {os.strerror(error)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = ioctl(any_socket, _GET_FLAGS, struct.pack(_INTERFACE, b"lo", 0))
        flags = struct.unpack(_INTERFACE, request)[1] | _UP
        ioctl(any_socket, _SET_FLAGS, struct.pack(_INTERFACE, b"lo", flags))


def _listen(back: socket.socket, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
        socket.send_fds(back, [b"."], [listener.fileno()])


def _limit_scope(c: ctypes.CDLL) -> None:
    """As far as the kernel's Landlock goes: it is a second wall."""
    if c.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION) < _SCOPES_SINCE:
        return
    attributes = struct.pack("QQQ", 0, 0, _ABSTRACT_SOCKETS | _SIGNALS)
    ruleset = c.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset >= 0:
        c.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        c.syscall(_RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.stderr.write(f"the sandbox cannot be made: {error}\n")
        sys.exit(_FAILED)
