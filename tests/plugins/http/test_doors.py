"""The doors of channels behind the HTTP server: requests in order and within limits, and no error
that says what is inside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from io import BytesIO

import aiohttp
import pytest

from nanobot.errors import StoreUnwritable
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.http.channel_routes import MAX_BODY, channel_routes
from nanobot.plugins.http.doors import Door
from nanobot.ports import Intake, PlatformReply, PlatformRequest
from nanobot.testing.machine import ManualClock
from tests.doubles.fake_intake import FakeIntake
from tests.server.serving import serve

Answer = Callable[[PlatformRequest], Awaitable[PlatformReply]]


class Pigeons:
    """A channel that answers requests as `answer` says, and writes them down."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.seen: list[PlatformRequest] = []
        self._answer = answer

    def reached_at(self, url: str) -> None:
        """It does not matter to pigeons."""

    async def receive(self, request: PlatformRequest, intake: Intake) -> PlatformReply:
        self.seen.append(request)
        await intake.admit([])
        return PlatformReply(body=b"coo") if self._answer is None else await self._answer(request)


@asynccontextmanager
async def served(
    pigeons: Pigeons, web: WebSettings | None = None, body_seconds: float = 10.0
) -> AsyncIterator[str]:
    door = Door("pigeons", pigeons, FakeIntake, ManualClock())
    routes = channel_routes({"pigeons": door}.get, body_seconds)
    async with serve(web or WebSettings(port=0), "token", routes) as server:
        yield f"{server.url}/channels/pigeons"


async def ask(
    url: str, body: bytes | None = b"x", **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    method = "GET" if body is None else "POST"
    async with (
        aiohttp.ClientSession() as session,
        session.request(
            method, url, data=None if body is None else BytesIO(body), headers=sent
        ) as answer,
    ):
        return answer.status, await answer.read(), dict(answer.headers)


async def test_a_request_comes_as_it_was_sent() -> None:
    pigeons = Pigeons()
    async with served(pigeons) as url:
        status, body, headers = await ask(f"{url}/a/b%20c?x=1&y=", b"\x00\xff", X_Signature="s")
        assert (status, body, headers["Cache-Control"]) == (200, b"coo", "no-store")
        await ask(url, None)
    first, second = pigeons.seen
    assert (first.method, first.path, first.query) == ("POST", "/a/b c", {"x": "1", "y": ""})
    assert (first.body, first.headers["x-signature"]) == (b"\x00\xff", "s")
    assert (second.method, second.path, second.body) == ("GET", "", b"")


async def test_there_is_a_door_only_for_channels_that_take_requests() -> None:
    async with served(Pigeons()) as url:
        root = url.removesuffix("/pigeons")
        assert [(await ask(f"{root}{path}"))[0] for path in ("/telegram", "/x/y", "")] == [404] * 3
        async with aiohttp.ClientSession() as session, session.delete(url) as answer:
            assert answer.status == 405


async def test_requests_are_answered_one_after_another_in_their_order() -> None:
    going = 0

    async def slow(request: PlatformRequest) -> PlatformReply:
        nonlocal going
        going += 1
        assert going == 1
        await asyncio.sleep(0.01)
        going -= 1
        return PlatformReply(body=request.body)

    pigeons = Pigeons(slow)
    door = Door("pigeons", pigeons, FakeIntake, ManualClock())
    requests = [PlatformRequest(method="POST", body=b"%d" % number) for number in range(10)]
    replies = await asyncio.gather(*map(door.take, requests))
    assert [reply.body for reply in replies] == [request.body for request in requests]
    assert [request.body for request in pigeons.seen] == [request.body for request in requests]


@pytest.mark.parametrize(
    ("reply", "status", "code", "later"),
    [
        (PlatformReply(status=401, body=b"Sign it."), 401, "unauthorized", False),
        (PlatformReply(status=418), 418, "refused", False),
        (PlatformReply(status=429, body=b"Slowly."), 429, "too_many", True),
        (StoreUnwritable("/home/ann/nanobot.db is full"), 503, "unavailable", True),
        (ValueError("secret"), 500, "internal", False),
    ],
    ids=["refused", "odd", "slowly", "store", "bug"],
)
async def test_what_goes_wrong_has_the_form_of_all_errors(
    reply: PlatformReply | Exception, status: int, code: str, *, later: bool
) -> None:
    async def answer(_: PlatformRequest) -> PlatformReply:
        if isinstance(reply, Exception):
            raise reply
        return reply

    async with served(Pigeons(answer)) as url:
        told, body, headers = await ask(url)
    assert (told, f'"code":"{code}"'.encode() in body) == (status, True)
    assert ("Retry-After" in headers) == later
    assert b"secret" not in body
    assert b"ann" not in body


async def test_bodies_are_limited_in_size_time_and_number() -> None:
    held = asyncio.Event()

    async def hold(_: PlatformRequest) -> PlatformReply:
        await held.wait()
        return PlatformReply()

    pigeons = Pigeons(hold)
    async with served(pigeons, body_seconds=0.2) as url, asyncio.TaskGroup() as tasks:
        assert (await ask(url, b"x" * (MAX_BODY + 1)))[0] == 413
        assert (await ask(url, b"x", Content_Encoding="gzip"))[0] == 415
        assert not pigeons.seen
        waiting = [tasks.create_task(ask(url)) for _ in range(40)]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert {task.result()[0] for task in done} == {503}
        held.set()
    assert {task.result()[0] for task in waiting} == {200, 503}


async def test_only_the_names_of_this_gateway_are_answered() -> None:
    pigeons = Pigeons()
    web = WebSettings(port=0, public_url="https://bot.example.org/assistant")
    async with served(pigeons, web) as url:
        assert (await ask(url, Host="bot.example.org"))[0] == 200
        assert (await ask(url, Host="evil.example"))[0] == 403
        assert (await ask(url, Origin="https://evil.example"))[0] == 403
        below = url.replace("/channels/", "/assistant/channels/")
        assert (await ask(below, Host="bot.example.org"))[0] == 200
    assert len(pigeons.seen) == 2
