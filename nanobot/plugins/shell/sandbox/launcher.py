"""Becomes the program in its arguments, in a separate network namespace.

It is run by its path, with only the standard library:

    python -I -S launcher.py SOCKET PORT PROGRAM ...

The process leaves the machine's network, including abstract sockets, for a new one that has only
loopback. It listens there on PORT and passes the listening socket out through SOCKET, the
descriptor of a unix socket: the receiver answers connections from outside. Exits with 125 and one
line on standard error if it fails.
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
_FAILED = 125


def main(arguments: list[str]) -> None:
    """Become the program. Raises OSError."""
    report, port, *command = arguments
    c = ctypes.CDLL(None, use_errno=True)
    _leave_network(c)
    with socket.socket(fileno=int(report)) as back:
        _listen(back, int(port))
    os.execv(command[0], command)  # noqa: S606 - what it is for


def _leave_network(c: ctypes.CDLL) -> None:
    user, group = os.geteuid(), os.getegid()
    if c.unshare(_NEW_USER | _NEW_NETWORK) == 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    elif c.unshare(_NEW_NETWORK) != 0:  # root can do this even if users have no namespaces
        error = ctypes.get_errno()
        raise OSError(error, f"no separate network: {os.strerror(error)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = ioctl(any_socket, _GET_FLAGS, struct.pack(_INTERFACE, b"lo", 0))
        flags = struct.unpack(_INTERFACE, request)[1] | _UP
        ioctl(any_socket, _SET_FLAGS, struct.pack(_INTERFACE, b"lo", flags))


def _listen(back: socket.socket, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
        socket.send_fds(back, [b"."], [listener.fileno()])


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.stderr.write(f"the sandbox cannot be made: {error}\n")
        sys.exit(_FAILED)
