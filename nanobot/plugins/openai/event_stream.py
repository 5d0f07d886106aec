"""Server-sent events as the response to one request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web

from nanobot.errors import NanobotError
from nanobot.plugins.common.http.refusals import problem_of
from nanobot.plugins.common.http.wire import QUIET, Problem

EVENTS = "text/event-stream"
QUIET_SECONDS = 15.0
_HEADERS = {**QUIET, "X-Accel-Buffering": "no"}
_COMMENT = b": it goes on\n\n"


class EventStream:
    """The response to `request`, started by the first event: a refusal before it can still be an
    ordinary response. After `quiet_seconds` without an event a comment is written, so that proxies
    keep the connection open and a disconnected client is noticed.
    """

    def __init__(self, request: web.Request, quiet_seconds: float = QUIET_SECONDS) -> None:
        self.response = web.StreamResponse(headers=_HEADERS)
        self.response.content_type = EVENTS
        self._request = request
        self._quiet_seconds = quiet_seconds
        self._written = 0

    async def write(self, pieces: AsyncGenerator[bytes, None]) -> Problem | None:
        """Write all events; returns the refusal that ended them, if any. Raises ConnectionError if
        the client has disconnected.
        """
        problem: Problem | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                comments = tasks.create_task(self._comment(), name="web: comments")
                try:
                    async with aclosing(pieces):
                        async for piece in pieces:
                            await self._write(piece)
                except Problem as raised:
                    problem = raised
                except NanobotError as error:
                    problem = problem_of(error)
                comments.cancel()
        except* ConnectionError:
            raise ConnectionResetError("the client has gone") from None
        return problem

    async def _write(self, data: bytes) -> None:
        self._written += 1
        if not self.response.prepared:
            await self.response.prepare(self._request)
        await self.response.write(data)

    async def _comment(self) -> None:
        while True:
            before = self._written
            await asyncio.sleep(self._quiet_seconds)
            if before == self._written:
                await self._write(_COMMENT)
