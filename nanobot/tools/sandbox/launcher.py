"""Becomes the program in its arguments, in a network of its own.

Run by its path, with nothing but Python's own library:

    python -I -S launcher.py SOCKET PORT PROGRAM ...

The process leaves the network of the machine, its abstract sockets included, for a new one with
loopback alone. There it listens on PORT, and hands the listening socket back through SOCKET, the
number of a unix socket: whoever has it answers from outside. Exits with 125 and one line on its
standard error if it cannot be done.
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


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.stderr.write(f"the sandbox cannot be made: {error}\n")
        sys.exit(_FAILED)
