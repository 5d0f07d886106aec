"""What listens: the connections that come before anything is loaded, on every promised Python."""

from __future__ import annotations

import asyncio
from asyncio import selector_events
from typing import Any, cast

import pytest

from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.http.web_server import WebServer
from tests.server.serving import Bench

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


class _TransportOf3112(selector_events._SelectorSocketTransport):  # type: ignore[misc,name-defined]
    """As in Python 3.11.2: reads once it is made, although its protocol paused it meanwhile."""

    def _add_reader(self, fd: int, callback: Any, *args: Any) -> None:
        if not self._closing:
            self._loop._add_reader(fd, callback, *args)


@pytest.fixture(params=["this Python's", "3.11.2's"])
def transports(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "this Python's":
        monkeypatch.setattr(selector_events, "_SelectorSocketTransport", _TransportOf3112)
    return str(request.param)


class _Echo(asyncio.Protocol):
    """Answers a request with what it got, once all of it came."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.got = b""

    def data_received(self, data: bytes) -> None:
        self.got += data
        if self.got.endswith(b"\r\n\r\n"):
            self.transport.write(self.got)
            self.transport.close()


class _Echoes:
    """What answers, and takes a while to load as the web server does."""

    def __call__(self) -> asyncio.Protocol:
        return _Echo()

    def __len__(self) -> int:
        return 0

    async def finish(self, seconds: float) -> None:
        """Has nothing to finish."""


async def slowly() -> _Echoes:
    await asyncio.sleep(0.3)
    return _Echoes()


async def answer(url: str, pieces: tuple[bytes, ...], *, end: bool) -> bytes:
    """What comes back for these bytes, sent one after the other."""
    port = int(url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        if end:
            writer.write_eof()
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()


@pytest.mark.usefixtures("transports")
@pytest.mark.parametrize("end", [False, True])
@pytest.mark.parametrize("pieces", [(REQUEST,), (REQUEST[:20], REQUEST[20:])])
async def test_the_first_connections_after_a_start_are_answered(
    pieces: tuple[bytes, ...], end: bool
) -> None:
    server = WebServer(WebSettings(port=0), slowly)
    async with server.serving():
        answers = await asyncio.gather(*(answer(server.url, pieces, end=end) for _ in range(3)))
    assert answers == [REQUEST] * 3


@pytest.mark.usefixtures("transports")
async def test_the_web_server_answers_the_first_request() -> None:
    async with Bench().serving() as server:
        assert (await answer(server.url, (REQUEST,), end=False)).startswith(b"HTTP/1.1 200 OK")
