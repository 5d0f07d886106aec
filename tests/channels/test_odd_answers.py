"""What a platform answers to a send means the same, whatever is odd about a part of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias

import pytest

from nanobot.errors import DeliveryError, NobodyThere, NotSent
from nanobot.messages import Address
from nanobot.ports import Channel, OutboundPart
from nanobot_channels.common.numbers import LONGEST_WAIT
from tests.channels.test_contract import Discord, Matrix, Mattermost, Slack, Telegram, WhatsApp
from tests.channels.test_file_names import written_to
from tests.doubles import discord_server
from tests.doubles.discord_server import DiscordServer
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.mattermost_server import MattermostServer
from tests.doubles.slack_server import SlackServer
from tests.doubles.telegram_server import TelegramServer
from tests.doubles.whatsapp_server import ANN, WhatsAppServer

Refusing: TypeAlias = Callable[[object, dict[str, Any]], None]
"""Let the next send be refused with this pause, and these other fields of the answer."""
Opened: TypeAlias = AbstractAsyncContextManager[tuple[Channel, str, Refusing]]

PAUSES: tuple[object, ...] = (
    0,
    0.0,
    -1,
    0.25,
    3,
    "7",
    "soon",
    "",
    None,
    True,
    [],
    {},
    1e308,
    10**400,
    "9" * 400,
)
"""What stands where a platform says how long to wait."""


def _body(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode()


@asynccontextmanager
async def telegram() -> AsyncIterator[tuple[Channel, str, Refusing]]:
    async with TelegramServer() as server:

        def refuse(pause: object, odd: dict[str, Any]) -> None:
            usual = {"ok": False, "error_code": 429, "description": "Too Many Requests"}
            body = usual | {"parameters": {"retry_after": pause}} | odd
            server.fail("sendMessage", status=429, body=_body(body))

        yield Telegram(server).channel(), "1", refuse


@asynccontextmanager
async def discord() -> AsyncIterator[tuple[Channel, str, Refusing]]:
    async with DiscordServer() as server:

        def refuse(pause: object, odd: dict[str, Any]) -> None:
            usual = {"message": "You are being rate limited.", "retry_after": pause}
            body = _body(usual | {"code": 0, "global": False} | odd)
            server.fail("POST /channels/{channel}/messages", status=429, body=body)

        yield Discord(server).channel(), discord_server.DM, refuse


@asynccontextmanager
async def matrix() -> AsyncIterator[tuple[Channel, str, Refusing]]:
    async with MatrixServer() as server:

        def refuse(pause: object, odd: dict[str, Any]) -> None:
            # Thousandths; a number with a point is one that a double cannot hold in them.
            usual = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too fast", "retry_after_ms": pause}
            server.fail("/send/", status=429, answer=usual | odd)

        yield Matrix(server).channel(), server.dm, refuse


@asynccontextmanager
async def slack() -> AsyncIterator[tuple[Channel, str, Refusing]]:
    """The pause is in a header there, as on the next two."""
    async with SlackServer() as server:

        def refuse(pause: object, odd: dict[str, Any]) -> None:
            body = _body({"ok": False, "error": "ratelimited"} | odd)
            server.fail("chat.postMessage", status=429, body=body, retry_after=_number(pause))

        yield Slack(server).channel(), "D1", refuse


@asynccontextmanager
async def mattermost() -> AsyncIterator[tuple[Channel, str, Refusing]]:
    async with MattermostServer() as server:

        def refuse(_pause: object, _odd: dict[str, Any]) -> None:
            server.fail("POST /posts", status=429)

        yield Mattermost(server).channel(), server.dm, refuse


@asynccontextmanager
async def whatsapp() -> AsyncIterator[tuple[Channel, str, Refusing]]:
    async with WhatsAppServer() as server, AsyncExitStack() as doors:

        def refuse(pause: object, _odd: dict[str, Any]) -> None:
            server.fail("messages", status=429, code=130429, retry_after=_number(pause))

        yield await written_to(WhatsApp(server, doors)), ANN, refuse


def _number(pause: object) -> float | None:
    try:
        return float(pause) if isinstance(pause, int | float | str) else None
    except (ValueError, OverflowError):
        return None


PLATFORMS: tuple[Callable[[], Opened], ...] = (
    telegram,
    discord,
    matrix,
    slack,
    mattermost,
    whatsapp,
)


async def refused(opened: Opened, pause: object, odd: dict[str, Any]) -> DeliveryError:
    async with opened as (channel, chat, refuse):
        refuse(pause, odd)
        try:
            await channel.send(Address("checked", chat), OutboundPart(text="hello", key="k:0"))
        except DeliveryError as error:
            return error
        finally:
            await channel.close()
    raise AssertionError("it was sent")


@pytest.mark.parametrize("pause", PAUSES, ids=lambda pause: repr(pause)[:12])
@pytest.mark.parametrize("opened", PLATFORMS, ids=lambda opened: opened.__name__)
async def test_a_limit_is_a_limit_whatever_pause_it_names(
    opened: Callable[[], Opened], pause: object
) -> None:
    error = await refused(opened(), pause, {})
    assert isinstance(error, NotSent)
    assert not isinstance(error, NobodyThere)
    assert error.retry_after is None or 0 < error.retry_after <= LONGEST_WAIT


ODD: tuple[object, ...] = (None, 7, True, "", "x", [], {}, [None], 10**30)
FIELDS = [
    *((telegram, field) for field in ("description", "error_code", "parameters")),
    *((discord, field) for field in ("code", "global", "errors")),
    (matrix, "error"),
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(("opened", "field"), FIELDS)
async def test_an_odd_field_costs_no_other(
    opened: Callable[[], Opened], field: str, odd: object
) -> None:
    pause = 3_000 if opened is matrix else 3
    error = await refused(opened(), pause, {field: odd})
    assert isinstance(error, NotSent)
    assert error.retry_after == (None if field == "parameters" else 3.0)
