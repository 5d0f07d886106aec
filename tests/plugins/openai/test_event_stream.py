"""Server-sent events as the answer to one request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from nanobot.errors import UnknownId
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.openai.event_stream import EventStream
from nanobot.testing.machine import PATIENCE
from tests.server.serving import serve

_QUIET = 0.01


class Teller:
    """Writes what `pieces` gives, with comments where that is nothing."""

    def __init__(self, pieces: AsyncGenerator[bytes, None]) -> None:
        self.pieces = pieces
        self.left = asyncio.Event()

    async def tell(self, request: web.Request) -> web.StreamResponse:
        stream = EventStream(request, _QUIET)
        try:
            problem = await stream.write(self.pieces)
        except ConnectionError:
            self.left.set()
            raise
        if problem is not None and not stream.response.prepared:
            raise problem
        return stream.response

    @asynccontextmanager
    async def asked(self) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        route = Route(method="GET", path="/tell", handler=self.tell, open=True)
        async with (
            serve(WebSettings(port=0), "token", [route]) as server,
            aiohttp.ClientSession() as session,
            asyncio.timeout(PATIENCE),
            session.get(f"{server.url}/tell") as response,
        ):
            yield response


async def test_comments_tell_that_it_goes_on() -> None:
    go = asyncio.Event()

    async def pieces() -> AsyncGenerator[bytes, None]:
        await go.wait()
        yield b"data: 1\n\n"

    async with Teller(pieces()).asked() as response:
        assert response.content_type == "text/event-stream"
        assert (await response.content.readline()).startswith(b":")
        go.set()
        assert (await response.content.read()).endswith(b"data: 1\n\n")


async def test_who_has_gone_is_missed_though_there_is_nothing_to_tell() -> None:
    ended = asyncio.Event()

    async def pieces() -> AsyncGenerator[bytes, None]:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        yield b""

    teller = Teller(pieces())
    async with teller.asked() as response:
        await response.content.readline()
        response.close()
        await teller.left.wait()
    assert ended.is_set()


async def test_what_is_refused_before_anything_is_told_is_an_answer_of_its_own() -> None:
    async def pieces() -> AsyncGenerator[bytes, None]:
        raise UnknownId("there is nothing of that name")
        yield b""

    async with Teller(pieces()).asked() as response:
        assert response.status == 404
        assert (await response.json())["error"]["message"] == "there is nothing of that name"
