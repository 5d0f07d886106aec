"""A client of the control socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from nanobot.errors import Disconnected, NanobotError
from nanobot.server.protocol import (
    LINE_LIMIT,
    Answer,
    Attach,
    Displayed,
    Hello,
    Refusal,
    Request,
    Say,
    encode,
)

_answers = msgspec.json.Decoder(Answer)


class ControlClient:
    """One attached conversation."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, path: Path) -> ControlClient | None:
        """A connection, or None when nobody serves the socket."""
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=LINE_LIMIT)
        except (ConnectionError, FileNotFoundError):
            return None
        return cls(reader, writer)

    async def attach(self, session: str) -> Hello:
        """Begin to talk in a session. Raises Disconnected, or NanobotError with the refusal."""
        self._send(Attach(session))
        answer = await self._next()
        if isinstance(answer, Hello):
            return answer
        raise NanobotError(answer.text if isinstance(answer, Refusal) else "not understood")

    def say(
        self, text: str, key: str, *, images: tuple[str, ...] = (), attended: bool = True
    ) -> None:
        """Send a message, with the pictures at these paths; it is taken once per key. `attended`:
        somebody is there to be asked."""
        self._send(Say(text, key, attended, images))

    def was_shown(self, key: str) -> None:
        """The person has seen the message."""
        self._send(Displayed(key))

    async def answers(self) -> AsyncIterator[Answer]:
        """What comes, until the other side ends; then Disconnected."""
        while True:
            yield await self._next()

    async def close(self) -> None:
        """Leave."""
        self._writer.close()

    def _send(self, request: Request) -> None:
        self._writer.write(encode(request))

    async def _next(self) -> Answer:
        try:
            raw = await self._reader.readline()
        except ConnectionError:
            raw = b""
        if not raw:
            raise Disconnected("the connection to nanobot ended; what you said is kept")
        answer: Answer = _answers.decode(raw)
        return answer
