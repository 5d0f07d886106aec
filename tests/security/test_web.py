"""A stranger's page asks this machine over HTTP, by whatever name and from wherever."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.http.web_server import WebServer
from nanobot.plugins.common.http.wire import answer
from tests.server.serving import serve

HOSTS = ("bot.example.org", "*.tail.example")


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    """A server with one thing to steal; nobody may get at it."""

    async def steal(_: web.Request) -> web.StreamResponse:
        return answer(200, {"loot": True})

    routes = [Route(method=method, path="/loot", handler=steal) for method in ("GET", "POST")]
    async with serve(WebSettings(port=0, hosts=HOSTS), "the token", routes) as opened:
        yield opened


async def ask(server: WebServer, method: str = "GET", **headers: str) -> int:
    """The status for somebody who even knows the token."""
    sent = {"Authorization": "Bearer the token", **headers}
    sent = {name.replace("_", "-"): value for name, value in sent.items()}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"{server.url}/loot", headers=sent) as response,
    ):
        assert not {name for name in response.headers if name.startswith("Access-Control")}
        return response.status


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:8765",
        "127.0.0.1.nip.example",
        "bot.example.org.evil.example",
        "tail.example",
        "xtail.example",
        "localhost@evil.example",
        "evil.example/localhost",
        "evil.example#localhost",
        "[::1].evil.example",
        "0x7f.1.evil",
        "localhost:99999999",
        "local host",
        "",
    ],
)
async def test_by_a_name_of_its_own(server: WebServer, host: str) -> None:
    assert await ask(server, Host=host) in {400, 403}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://localhost.evil.example",
        "null",
        "",
        "file://",
        "chrome-extension://abc",
        "http://127.0.0.1:1",
        "http://localhost:1",
        "http://localhost@evil.example",
        "http://evil.example:8765",
        "https://bot.example.org.evil.example",
        "http://[::1",
        "http://bot.example.org/evil",
    ],
)
async def test_from_another_site(server: WebServer, origin: str, method: str) -> None:
    assert await ask(server, method, Origin=origin) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
async def test_without_saying_from_where(server: WebServer, site: str) -> None:
    assert await ask(server, Sec_Fetch_Site=site) == 403


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer ", "Bearer the toke", "Bearer the token!", "Basic the token"]
)
async def test_without_the_token(server: WebServer, shown: str) -> None:
    assert await ask(server, Authorization=shown) == 401


async def test_its_own_pages_and_programs_get_in(server: WebServer) -> None:
    own = server.url.removeprefix("http://")
    for headers in (
        {},
        {"Origin": server.url},
        {"Host": "localhost", "Origin": "http://localhost"},
        {"Host": "[::1]:8765", "Origin": "http://[::1]:8765"},
        {"Host": "bot.example.org", "Origin": "https://bot.example.org"},
        {"Host": "BOT.example.org."},
        {"Host": "a.tail.example", "Origin": "https://a.tail.example"},
        {"Host": own, "Sec_Fetch_Site": "same-origin"},
    ):
        assert await ask(server, **headers) == 200, headers
