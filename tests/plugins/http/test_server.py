"""The server by itself, over raw sockets: it says little, waits briefly and never breaks."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.errors import ConfigError
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.http.wire import answer
from tests.sampling import examples
from tests.server.serving import PATIENCE, Bench, exchange

GET = b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


async def breaks(_: web.Request) -> web.StreamResponse:
    raise LookupError("something only the log may know")


async def greets(request: web.Request) -> web.StreamResponse:
    return answer(200, {"hello": request.match_info["name"]})


ROUTES = (
    Route(method="GET", path="/broken", handler=breaks, open=True),
    Route(method="GET", path="/greet/{name}", handler=greets),
)


async def status(url: str, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(url + path, headers=headers) as response,
    ):
        return response.status, dict(response.headers), await response.read()


async def test_it_says_whether_it_lives_and_whether_it_is_ready() -> None:
    bench = Bench()
    bench.ready = False
    async with bench.serving() as server:
        assert (await status(server.url, "/healthz"))[0] == 200
        code, headers, _ = await status(server.url, "/readyz")
        assert (code, headers["Retry-After"]) == (503, "2")
        bench.ready = True
        assert (await status(server.url, "/readyz"))[0] == 200


async def test_what_is_not_open_wants_the_token() -> None:
    async with Bench().serving(more=ROUTES) as server:
        for shown in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic token"}):
            code, headers, _ = await status(server.url, "/greet/you", **shown)
            assert (code, headers["WWW-Authenticate"]) == (401, "Bearer")
        token = {"Authorization": "Bearer token"}
        code, _, body = await status(server.url, "/greet/you%2Fme", **token)
        assert (code, json.loads(body)) == (200, {"hello": "you/me"})
        assert (await status(server.url, "/greet/", **token))[0] == 404
        assert (await status(server.url, "/greet/you/", **token))[0] == 404


async def test_a_handler_that_breaks_says_nothing_of_the_inside() -> None:
    async with Bench().serving(more=ROUTES) as server:
        code, headers, body = await status(server.url, "/broken")
        assert code == 500
        assert json.loads(body)["error"]["code"] == "internal"
        assert b"LookupError" not in body
        assert headers["Server"] == "nanobot"
        assert (await status(server.url, "/healthz"))[0] == 200


async def test_a_head_that_drips_is_given_up_and_so_is_silence() -> None:
    async with Bench().serving(idle_seconds=0.05) as server:
        for drip in (b"", b"GET /healthz HTTP/1.1\r\nHost: local"):
            assert await exchange(server.url, drip) == b""
        kept = GET.replace(b"Connection: close\r\n", b"") % b"/healthz"
        assert (await exchange(server.url, kept + b"GET /hea")).count(b"HTTP/1.1 ") == 1


async def test_more_connections_than_there_is_room_for_are_told_to_come_later() -> None:
    async with Bench().serving(connections=2) as server:
        host, _, port = server.url.removeprefix("http://").rpartition(":")
        held = [await asyncio.open_connection(host, int(port)) for _ in range(2)]
        for _, writer in held:
            writer.write(GET.replace(b"\r\n\r\n", b"\r\n") % b"/healthz")
        refused = await exchange(server.url, b"")
        head, _, body = refused.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert f"Content-Length: {len(body)}".encode() in head
        assert json.loads(body)["error"]["code"] == "busy"
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        async with asyncio.timeout(PATIENCE):
            while not (await exchange(server.url, GET % b"/healthz")).startswith(b"HTTP/1.1 200"):
                pass


@pytest.mark.parametrize(
    "raw",
    [
        b"garbage\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 20_000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 500 + b"\r\n",
        b"GET /" + b"y" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /hooks/ci HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /hooks/ci HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /hooks/ci HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_refused_in_json(raw: bytes) -> None:
    bench = Bench()
    async with bench.serving(bench.hook("ci"), idle_seconds=0.3, body_seconds=0.3) as server:
        head, _, body = (await exchange(server.url, raw)).partition(b"\r\n\r\n")
        assert head.startswith((b"HTTP/1.1 40", b"HTTP/1.0 40")), head
        assert json.loads(body)["error"]["code"] in {"bad_request", "unknown_host"}
        assert b"aiohttp" not in head
        assert (await status(server.url, "/healthz"))[0] == 200


async def test_a_port_that_is_taken_is_named() -> None:
    async with Bench().serving() as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(ConfigError, match=f"web.port: {port} on 127.0.0.1 is taken"):
            async with Bench().serving(web=WebSettings(port=port)):
                pass


LINES = st.sampled_from(
    [
        b"GET /healthz HTTP/1.1",
        b"POST /hooks/ci HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"CONNECT a:1 HTTP/1.1",
        b"GET http://x/hooks/ci HTTP/1.0",
        b"Host: localhost",
        b"Host: [::1]:80",
        b"Origin: null",
        b"Content-Length: 7",
        b"Content-Type: application/json",
        b"Content-Encoding: br",
        b"Transfer-Encoding: chunked",
        b"X-Hub-Signature-256: sha256=\xff",
        b"Authorization: Bearer \xc3\x28",
        b"Expect: 100-continue",
        b"Upgrade: websocket",
        b"Connection: upgrade",
        b"",
        b"{}",
        b"3",
    ]
)


@settings(max_examples=examples(60))
@given(st.lists(LINES | st.binary(max_size=40), max_size=12))
async def test_whatever_bytes_come_there_is_no_500_and_no_end_of_it(lines: list[bytes]) -> None:
    bench = Bench()
    async with bench.serving(bench.hook("ci"), idle_seconds=0.05, body_seconds=0.05) as server:
        text = await exchange(server.url, b"\r\n".join(lines) + b"\r\n\r\n")
        assert b" 500 " not in text
        assert b"Traceback" not in text
        # On a busy machine a connection can be idle for as long before it has sent anything.
        health = [await exchange(server.url, GET % b"/healthz") for _ in range(5)]
        assert any(each.startswith(b"HTTP/1.1 200 ") for each in health)
    assert bench.told.texts == []


@settings(max_examples=examples(80))
@given(st.binary(max_size=300), st.sampled_from(["json", "x-www-form-urlencoded", "\u00ff"]))
async def test_whatever_a_sender_signs_gets_an_answer(body: bytes, kind: str) -> None:
    bench = Bench()
    hook = bench.hook("ci", style="bearer", prompt="{payload} {a.b} {headers.content-type}")
    headers = {"Authorization": f"Bearer {hook.settings.secret}"}
    headers["Content-Type"] = f"application/{kind}"
    async with (
        bench.serving(hook) as server,
        aiohttp.ClientSession() as session,
        session.post(f"{server.url}/hooks/ci", data=body, headers=headers) as response,
    ):
        assert response.status in {202, 400, 415}
