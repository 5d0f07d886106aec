"""Deliveries over real sockets: each gets the answer that its sender can act upon."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlencode

import aiohttp
import msgspec
import pytest

from nanobot.plugins.common.http.web_server import WebServer
from nanobot.plugins.hooks.deliveries import MOST, NamedDeliveries
from nanobot.plugins.hooks.signatures import sign
from nanobot.plugins.http import application
from tests.server.serving import Bench, Told, exchange

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def deliver(
    bench: Bench,
    server: WebServer,
    body: bytes = b'{"n": 1}',
    *,
    name: str = "ci",
    key: str = "1",
    method: str = "POST",
    **headers: str,
) -> tuple[int, Any, dict[str, str]]:
    """Deliver as GitHub does: the status, the JSON and the headers of the answer. `headers` with _
    for -; an empty one is left out."""
    hook = bench.hook(name, style="github").settings
    sent = {**JSON, "X-GitHub-Event": "issues", **sign(hook, body, at=bench.clock.now(), key=key)}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {name: value for name, value in sent.items() if value}
    async with (
        aiohttp.ClientSession(skip_auto_headers=("Content-Type",)) as session,
        session.request(
            method, f"{server.url}/hooks/{name}", data=body or None, headers=sent
        ) as answer,
    ):
        return answer.status, await answer.json(), dict(answer.headers)


async def test_a_delivery_is_taken_once_by_its_id(bench: Bench) -> None:
    async with bench.serving(bench.hook("ci")) as server:
        assert (await deliver(bench, server))[:2] == (202, {"status": "accepted"})
        assert (await deliver(bench, server))[:2] == (200, {"status": "known"})
        assert (await deliver(bench, server, b'{"n": 2}', key="2"))[0] == 202
    assert [text.rpartition("\n")[2] for text in bench.told.texts] == ["1", "2"]
    assert bench.told.keys == ["1", "2"]


async def test_whoever_cannot_sign_learns_nothing_not_even_which_hooks_there_are(
    bench: Bench,
) -> None:
    async with bench.serving(bench.hook("ci")) as server:
        unknown = await deliver(bench, server, name="nobody")
        wrong = await deliver(bench, server, X_Hub_Signature_256="sha256=00")
        unsigned = await deliver(bench, server, X_Hub_Signature_256="", Content_Type="x/y")
        broken = await deliver(bench, server, b"{", X_Hub_Signature_256="sha256=00")
    for status, body, headers in (unknown, wrong, unsigned, broken):
        assert status == 401
        assert body == unknown[1]
        assert {**headers, "Date": ""} == {**unknown[2], "Date": ""}
    assert bench.told.texts == []


@pytest.mark.parametrize(
    ("status", "code", "how"),
    [
        (405, "method_not_allowed", {"method": "GET", "body": b""}),
        (405, "method_not_allowed", {"method": "PUT"}),
        (415, "unsupported_media_type", {"Content_Type": "text/plain"}),
        (415, "unsupported_media_type", {"Content_Type": ""}),
        (415, "unsupported_encoding", {"Content_Encoding": "gzip"}),
        (400, "bad_request", {"body": b"{"}),
        (400, "bad_request", {"body": b""}),
        (400, "bad_request", {"body": b"[" * 100_000}),
        (400, "bad_request", {"body": b'"\xff"'}),
        (400, "bad_request", {"Content_Type": "application/x-www-form-urlencoded"}),
        (413, "too_large", {"body": b'{"n": "' + b"x" * 1_000_000 + b'"}'}),
    ],
)
async def test_what_cannot_be_used_is_refused_with_a_reason(
    bench: Bench, status: int, code: str, how: dict[str, Any]
) -> None:
    async with bench.serving(bench.hook("ci")) as server:
        answered, body, _ = await deliver(bench, server, **how)
    assert (answered, body["error"]["code"]) == (status, code)
    assert body["error"]["message"]
    assert bench.told.texts == []


async def test_githubs_forms_are_taken_like_its_json(bench: Bench) -> None:
    form = urlencode({"payload": '{"n": "in a form"}'}).encode()
    kind = "application/x-www-form-urlencoded"
    async with bench.serving(bench.hook("ci")) as server:
        assert (await deliver(bench, server, form, Content_Type=kind))[0] == 202
    assert bench.told.texts[0].endswith("\nin a form")


async def test_a_ping_and_events_that_nobody_asked_for_start_nothing(bench: Bench) -> None:
    async with bench.serving(bench.hook("ci", events=("issues.opened", "check_*"))) as server:
        ping = await deliver(bench, server, X_GitHub_Event="ping")
        closed = await deliver(bench, server, b'{"action": "closed", "n": 1}')
        other = await deliver(bench, server, X_GitHub_Event="push")
        assert [answer[:2] for answer in (ping, closed, other)] == [
            (200, {"status": "pong"}),
            (200, {"status": "ignored"}),
            (200, {"status": "ignored"}),
        ]
        opened = await deliver(bench, server, b'{"action": "opened", "n": 1}', key="2")
        check = await deliver(bench, server, X_GitHub_Event="check_run", key="3")
        assert (opened[0], check[0]) == (202, 202)


async def test_what_is_too_much_may_come_later_and_what_was_not_kept_must(bench: Bench) -> None:
    bench.told.room = 1
    async with bench.serving(bench.hook("ci", per_minute=4)) as server:
        assert (await deliver(bench, server))[0] == 202
        status, body, headers = await deliver(bench, server, key="2")
        assert (status, body["error"]["code"]) == (429, "full")
        assert int(headers["Retry-After"]) > 0
        bench.told.broken = True
        status, body, headers = await deliver(bench, server, key="2")
        assert (status, body["error"]["code"]) == (503, "unavailable")
        assert int(headers["Retry-After"]) > 0
        assert "disk" not in body["error"]["message"]
        bench.told.broken, bench.told.room = False, 9
        assert (await deliver(bench, server, key="2"))[0] == 202
        status, body, headers = await deliver(bench, server, key="3")
        assert (status, body["error"]["code"], headers["Retry-After"]) == (429, "too_many", "15")
        bench.clock.advance(15)
        assert (await deliver(bench, server, key="3"))[0] == 202


async def test_strangers_do_not_use_up_what_a_sender_may_deliver(bench: Bench) -> None:
    async with bench.serving(bench.hook("ci", per_minute=1)) as server:
        for _ in range(5):
            assert (await deliver(bench, server, X_Hub_Signature_256="sha256=00"))[0] == 401
        assert (await deliver(bench, server))[0] == 202


async def test_an_old_delivery_is_a_replay(bench: Bench) -> None:
    hook = bench.hook("shop", style="stripe")
    body = b'{"id": "evt_1", "type": "charge.succeeded", "n": 1}'
    headers = {**JSON, **sign(hook.settings, body, at=bench.clock.now(), key="")}
    async with bench.serving(hook) as server, aiohttp.ClientSession() as session:
        for seconds, status in ((0, 202), (300, 200), (1, 401)):
            bench.clock.advance(seconds)
            url = f"{server.url}/hooks/shop"
            async with session.post(url, data=body, headers=headers) as answer:
                assert answer.status == status


@pytest.mark.parametrize("length", [b"Content-Length: 10000000", b"Transfer-Encoding: chunked"])
async def test_ten_megabytes_are_refused_unread(bench: Bench, length: bytes) -> None:
    head = b"POST /hooks/ci HTTP/1.1\r\nHost: localhost\r\n" + length + b"\r\n\r\n"
    piece = b"x" * 65_536
    if b"chunked" in length:
        piece = b"10000\r\n" + piece + b"\r\n"
    async with bench.serving(bench.hook("ci")) as server:
        host, _, port = server.url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head)
        for _ in range(20):
            writer.write(piece)
        async with asyncio.timeout(10):
            answer = await reader.readuntil(b"}}")
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"1,000,000 bytes" in answer
        writer.close()
        assert (await deliver(bench, server))[0] == 202


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends no more is not waited for as long as else."""
    monkeypatch.setattr(application, "_LINGER_SECONDS", 0.1)


@pytest.mark.usefixtures("hasty")
async def test_a_client_that_asks_first_is_told_before_it_sends(bench: Bench) -> None:
    head = b"POST /hooks/ci HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
    async with bench.serving(bench.hook("ci")) as server:
        refused = await exchange(
            server.url, head + b"Content-Length: 2000000\r\nConnection: close\r\n\r\n"
        )
        assert refused.startswith(b"HTTP/1.1 413 ")
        text = await exchange(
            server.url, head + b"Content-Length: 2\r\nConnection: close\r\n\r\n", more=b"{}"
        )
        assert text.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 ")


@pytest.mark.usefixtures("hasty")
async def test_a_body_that_drips_is_given_up(bench: Bench) -> None:
    head = b"POST /hooks/ci HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{"
    async with bench.serving(bench.hook("ci"), body_seconds=0.05) as server:
        assert (await exchange(server.url, head)).startswith(b"HTTP/1.1 408 ")


@pytest.mark.process
async def test_a_thousand_deliveries_at_once_with_repetitions_are_each_taken_once(
    bench: Bench,
) -> None:
    hook = bench.hook("ci", per_minute=100_000)
    statuses: list[int] = []

    async def post(session: aiohttp.ClientSession, url: str, number: int) -> None:
        body = msgspec.json.encode({"n": number})
        headers = {**JSON, **sign(hook.settings, body, at=bench.clock.now(), key=str(number))}
        async with session.post(url, data=body, headers=headers) as answer:
            statuses.append(answer.status)

    async with (
        bench.serving(hook) as server,
        aiohttp.ClientSession() as session,
        asyncio.TaskGroup() as tasks,
    ):
        for number in range(1_000):
            for _ in range(2):
                tasks.create_task(post(session, f"{server.url}/hooks/ci", number))
    assert sorted(bench.told.keys, key=int) == [str(number) for number in range(1_000)]
    assert sorted(statuses) == [200] * 1_000 + [202] * 1_000


async def test_what_is_being_answered_when_it_stops_is_answered(bench: Bench) -> None:
    class Slow(Told):
        async def publish(self, text: str, *, key: str = "") -> Any:
            reached.set()
            await go.wait()
            return await super().publish(text, key=key)

    reached, go = asyncio.Event(), asyncio.Event()
    bench.told = Slow()
    async with bench.serving(bench.hook("ci")) as server, asyncio.TaskGroup() as tasks:
        delivered = tasks.create_task(deliver(bench, server))
        await reached.wait()
        drained = tasks.create_task(server.drain())
        await asyncio.sleep(0)
        with pytest.raises(aiohttp.ClientConnectionError):
            await deliver(bench, server, key="2")
        go.set()
        assert (await delivered)[0] == 202
        await drained


async def test_a_generic_delivery_is_not_replayed_under_another_name(bench: Bench) -> None:
    hook, body = bench.hook("own", style="generic"), b'{"n": 1}'

    async def taken(name: str, headers: dict[str, str]) -> int:
        sent = {key.lower(): value for key, value in (JSON | headers).items()}
        return (await hook.take(sent | {"idempotency-key": name}, body)).status

    def signed(name: str) -> dict[str, str]:
        return sign(hook.settings, body, at=bench.clock.now(), key=name)

    caught = signed("first")
    assert [await taken(name, caught) for name in ("first", "second", "", "first")] == [
        *(202, 200, 200, 200)
    ]
    bench.clock.advance(10)
    assert await taken("first", signed("first")) == 200
    assert await taken("other", signed("other")) == 202
    assert len(bench.told.texts) == 2


async def test_names_of_deliveries_survive_a_restart_and_are_few() -> None:
    state = Kept()
    named = NamedDeliveries(state, "hook:own")
    for number in range(MOST + 10):
        await named.add(str(number))
    again = NamedDeliveries(state, "hook:own")
    assert await again.has(str(MOST))
    assert not await again.has("5")
    assert len(state.body) < 40 * MOST


class Kept:
    """State in memory."""

    body = b""

    async def kept(self, name: str) -> bytes | None:
        return self.body or None

    async def keep(self, name: str, body: bytes) -> None:
        self.body = body
