"""Listening sockets that accept no more connections than there is room for.

asyncio's own server accepts up to its whole backlog in one step, and retries as often again when
the process has run out of file descriptors. This one accepts a few per step, closes excess
connections at once, and waits when there is no file descriptor.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence

from loguru import logger

_BACKLOG = 1_024
"""Connections that the system queues until they are accepted."""
_AT_ONCE = 64
_REQUEST_BYTES = 65_536
_PAUSE_SECONDS = 1.0
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Listener:
    """Listens on bound sockets. `taken` receives each connection. `full` tells whether one more is
    too many; that connection gets `refusal` instead.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        taken: Callable[[socket.socket], None],
        full: Callable[[], bool],
        refusal: bytes,
    ) -> None:
        self._sockets = sockets
        self._taken = taken
        self._full = full
        self._refusal = refusal
        self._loop = asyncio.get_running_loop()
        self._pauses: dict[socket.socket, asyncio.TimerHandle] = {}
        self._said = False
        for each in sockets:
            each.listen(_BACKLOG)
            self._loop.add_reader(each, self._accept, each)

    @property
    def port(self) -> int:
        """The port of the first socket."""
        return int(self._sockets[0].getsockname()[1])

    def close(self) -> None:
        """Stop accepting."""
        for pause in self._pauses.values():
            pause.cancel()
        for each in self._sockets:
            self._loop.remove_reader(each)
            each.close()

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                self._pause(listening, error)
                return
            connection.setblocking(False)  # noqa: FBT003 - its only argument
            if self._full():
                self._refuse(connection)
            else:
                self._taken(connection)

    def _refuse(self, connection: socket.socket) -> None:
        try:
            connection.send(self._refusal)
            # Unread data at closing would discard the refusal before the client reads it.
            connection.recv(_REQUEST_BYTES)
        except OSError:  # no data yet, or it has disconnected already
            return
        finally:
            connection.close()

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        """The connection waits in the system's queue, and would be reported again and again."""
        if not self._said:
            logger.warning("no connection can be taken for now: {}", error.strerror)
            self._said = True
        self._loop.remove_reader(listening)
        self._pauses[listening] = self._loop.call_later(_PAUSE_SECONDS, self._resume, listening)

    def _resume(self, listening: socket.socket) -> None:
        self._loop.add_reader(listening, self._accept, listening)


async def bound(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of the host, at this port. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            own = socket.socket(family, kind, protocol)
            sockets.append(own)
            own.setblocking(False)  # noqa: FBT003 - its only argument
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            own.bind(address)
    except OSError:
        for each in sockets:
            each.close()
        raise
    return sockets
