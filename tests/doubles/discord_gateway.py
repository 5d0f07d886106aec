"""Discord's gateway on loopback: sessions that can be resumed, heartbeats, and their ends.

Documented in https://discord.com/developers/docs/events/gateway.
"""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.doubles.discord_wire import DiscordFault
from tests.doubles.platform_server import PlatformServer

MESSAGE_CONTENT = 1 << 15


@dataclass
class Session:
    """A session: begun by IDENTIFY, continued by RESUME."""

    id: str
    intents: int
    log: list[dict[str, Any]] = field(default_factory=list)


class Connection:
    """One websocket of a bot."""

    def __init__(self, socket: web.WebSocketResponse, *, compressed: bool) -> None:
        self.session: Session | None = None
        self.socket = socket
        self.answers_heartbeats = True
        self.heartbeats = 0
        self._deflate = zlib.compressobj() if compressed else None

    async def send(self, frame: dict[str, Any] | str) -> None:
        """One frame, as JSON or as it is."""
        text = frame if isinstance(frame, str) else json.dumps(frame)
        if self.socket.closed:
            return
        with suppress(ConnectionError):  # the bot was killed a moment ago
            if self._deflate is None:
                await self.socket.send_str(text)
                return
            data = self._deflate.compress(text.encode())
            await self.socket.send_bytes(data + self._deflate.flush(zlib.Z_SYNC_FLUSH))


class GatewayServer(PlatformServer[DiscordFault]):
    """The gateway of the double. Subclasses provide `ready`."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token
        self.flags = 1 << 19
        self.heartbeat_interval = 41_250
        self.identified: list[dict[str, Any]] = []
        self.resumed: list[dict[str, Any]] = []
        self.queries: list[dict[str, str]] = []
        self.refuse_with: list[int] = []
        """Close codes with which the next connections are ended instead of READY or RESUMED."""
        self.sessions: dict[str, Session] = {}
        self.connections: list[Connection] = []

    def ready(self, session: Session) -> list[tuple[str, dict[str, Any]]]:
        """The events that follow an IDENTIFY."""
        raise NotImplementedError

    @property
    def connection(self) -> Connection:
        """The bot's connection."""
        return self.connections[-1]

    async def accept(self, request: web.Request) -> web.WebSocketResponse:
        """One websocket from its beginning to its end."""
        socket = web.WebSocketResponse(max_msg_size=0, timeout=0.1)
        await socket.prepare(request)
        self.queries.append(dict(request.query))
        connection = Connection(socket, compressed=request.query.get("compress") == "zlib-stream")
        if request.query.get("v") != "10" or request.query.get("encoding") != "json":
            await socket.close(code=4012)
            return socket
        self.connections.append(connection)
        await connection.send(
            {"op": 10, "d": {"heartbeat_interval": self.heartbeat_interval}, "t": None}
        )
        async for frame in socket:
            if frame.type is WSMsgType.TEXT:
                await self._answer(connection, frame.json())
        self.wake()
        return socket

    async def _answer(self, connection: Connection, frame: dict[str, Any]) -> None:
        op, data = frame["op"], frame.get("d")
        if op == 1:
            connection.heartbeats += 1
            if connection.answers_heartbeats:
                await connection.send({"op": 11, "d": None, "t": None})
        elif op == 2:
            await self._identify(connection, data or {})
        elif op == 6:
            await self._resume(connection, data or {})
        elif connection.session is None:
            await connection.socket.close(code=4003)
        self.wake()

    async def _identify(self, connection: Connection, data: dict[str, Any]) -> None:
        if connection.session is not None:
            await connection.socket.close(code=4005)
            return
        self.identified.append(data)
        if self.refuse_with:
            await connection.socket.close(code=self.refuse_with.pop(0))
        elif data["token"] != self.token:
            await connection.socket.close(code=4004)
        elif data["intents"] & MESSAGE_CONTENT and not self.flags & (3 << 18):
            await connection.socket.close(code=4014)
        else:
            session = Session(f"session{len(self.sessions)}", data["intents"])
            self.sessions[session.id] = session
            connection.session = session
            for event, payload in self.ready(session):
                await self.deliver(session, event, payload)

    async def _resume(self, connection: Connection, data: dict[str, Any]) -> None:
        self.resumed.append(data)
        session = self.sessions.get(data["session_id"])
        if self.refuse_with:
            await connection.socket.close(code=self.refuse_with.pop(0))
        elif data["token"] != self.token:
            await connection.socket.close(code=4004)
        elif session is None or not 0 <= data["seq"] <= len(session.log):
            await connection.send({"op": 9, "d": False, "t": None})
        else:
            position = data["seq"]
            while position < len(session.log):  # what happens meanwhile comes after
                await connection.send(session.log[position])
                position += 1
            connection.session = session
            await self.deliver(session, "RESUMED", {})

    async def deliver(self, session: Session, event: str, data: Any) -> None:
        """One event of a session: kept for a resumption, sent if somebody is connected."""
        frame = {"op": 0, "t": event, "s": len(session.log) + 1, "d": data}
        session.log.append(frame)
        for connection in self.connections:
            if connection.session is session:
                await connection.send(frame)
        self.wake()

    async def dispatch(self, event: str, data: Any) -> None:
        """One event of any shape to every session."""
        for session in self.sessions.values():
            await self.deliver(session, event, data)

    # What goes wrong.

    async def end(self, code: int, *, forget: bool = False) -> None:
        """Close the bot's connection; `forget` its session too."""
        connection = self.connections.pop()
        if forget:
            self.sessions.clear()
        await connection.socket.close(code=code)

    def cut(self) -> None:
        """Break the bot's connection without a word."""
        connection = self.connections.pop()
        transport = connection.socket._req.transport if connection.socket._req else None
        if transport is not None:
            transport.abort()

    async def ask_to_reconnect(self) -> None:
        """Opcode 7."""
        await self.connection.send({"op": 7, "d": None, "t": None})

    async def invalidate(self, *, resumable: bool) -> None:
        """Opcode 9."""
        if not resumable:
            self.sessions.clear()
        await self.connection.send({"op": 9, "d": resumable, "t": None})
