"""Connections that others hold never keep an owner out, whatever they do with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest

from nanobot.plugins.common.http import web_server
from nanobot.plugins.common.http.seats import Seats
from tests.server.housing import TOKEN, House
from tests.server.serving import exchange

MOST = 40
ASK = "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
SOCKET = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


class NoSeats(Seats):
    """The defence switched off."""

    def take(self, connection: Hashable, leave: object) -> None:
        """It may stay."""

    def know(self, connection: Hashable, name: str, *, owner: bool) -> bool:
        return True


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "_CONNECTIONS", MOST)


ATTACKS = {
    "a member who asks and stays": ("/api/me", "\r\n"),
    "a member with event streams": ("/api/events", "\r\n"),
    "a member with sockets": ("/ws", SOCKET + "\r\n"),
    "silence": ("", ""),
    "heads that do not end": ("/api/me", "X-Slow: "),
}


@asynccontextmanager
async def held(url: str, request: str) -> AsyncIterator[None]:
    """More connections than there are seats, each with that beginning of a request."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    async with AsyncExitStack() as stack:
        for number in range(MOST + 60):
            if number >= MOST + 10:
                await asyncio.sleep(0.01)  # a seat that was left meanwhile is taken again
            with suppress(ConnectionError):
                _, writer = await asyncio.open_connection(host, int(port))
                stack.callback(writer.close)
                writer.write(request.encode())
                await writer.drain()
        await asyncio.sleep(0.3)
        yield


async def answered(house: House, attack: str) -> bytes:
    """The first line of what an owner gets meanwhile."""
    path, rest = ATTACKS[attack]
    member = await house.program("anna", "member")
    token = member.headers["Authorization"].partition(" ")[2]
    request = ASK.format(path=path, token=token) + rest if path else ""
    async with held(house.url, request):
        own = ASK.format(path="/api/me", token=TOKEN) + "Connection: close\r\n\r\n"
        return (await exchange(house.url, own.encode())).partition(b"\r\n")[0]


@pytest.mark.parametrize("attack", ATTACKS)
async def test_an_owner_is_answered_while_others_hold_all_they_can(
    served: House, attack: str
) -> None:
    assert b" 200 " in await answered(served, attack)


# Of those that are answered one may end just then and leave a seat: these are held for sure.
@pytest.mark.parametrize("attack", ["a member with sockets", "silence", "heads that do not end"])
async def test_without_seats_an_owner_is_shut_out(
    monkeypatch: pytest.MonkeyPatch, served: House, attack: str
) -> None:
    for name in ("take", "know"):
        monkeypatch.setattr(Seats, name, getattr(NoSeats, name))
    assert b" 200 " not in await answered(served, attack)


def test_seats_are_counted_and_given_back() -> None:
    seats, left = Seats(8), []
    for number in range(4):
        seats.take(number, lambda number=number: left.append(number))  # type: ignore[misc]
    assert left == [0, 1]
    assert seats.know(2, "anna", owner=False)
    assert seats.know(3, "anna", owner=False)
    assert not seats.know(4, "anna", owner=False)
    assert seats.know(5, "local", owner=True)
    seats.leave(2)
    assert seats.know(4, "anna", owner=False)
