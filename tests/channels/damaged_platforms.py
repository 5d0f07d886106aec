"""Platforms that deliver damaged events to whole gateways, and a person who writes after them."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import msgspec

from tests.channels import damaging, matrixing
from tests.channels.damaging import INNER, Json, damaged, mattermost_frames, whatsapp_bodies
from tests.doubles import discord_rules, discord_server, matrix_rooms
from tests.doubles.discord_server import DM as DISCORD_DM
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.mattermost_server import ANN, MattermostServer
from tests.doubles.slack_server import SlackServer
from tests.doubles.telegram_server import TelegramServer
from tests.doubles.webhooks import Deliveries
from tests.doubles.whatsapp_server import ANN as PERSON
from tests.doubles.whatsapp_server import WhatsAppServer
from tests.process.platforms import DenseSlack, LiveDiscord, slack_text

Act: TypeAlias = Callable[[], Awaitable[object]]


class Platform(msgspec.Struct, kw_only=True):
    """`events` deliver a damaged event each; `say` writes to the bot in a private chat, and `texts`
    are the bot's there; `says` and `written` are the same where the events were."""

    name: str
    table: str
    events: list[Act]
    say: Callable[[str], Awaitable[object]]
    texts: Callable[[], list[str]]
    says: Callable[[str], Awaitable[object]]
    written: Callable[[], list[str]]
    deliveries: Deliveries | None = None
    """Where it delivers by HTTP."""


def table(name: str, owner: str, **settings: object) -> str:
    keys = "\n".join(f'{key} = "{value}"' for key, value in settings.items())
    return f'[channels.{name}]\nowners = ["{owner}"]\n{keys}\n'


def renewed(event: Any, names: dict[Any, Any]) -> Any:
    """The event with other ids: a platform never gives two events the same."""
    if isinstance(event, dict):
        return {key: renewed(value, names) for key, value in event.items()}
    if isinstance(event, list):
        return [renewed(value, names) for value in event]
    return names.get(event, event) if type(event) in (int, str) else event


def numbered(events: Iterable[Any], every: int, values: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """The damaged ones of each kind, every so many."""
    return enumerate(odd for event in events for odd in damaged(event, every, values))


@asynccontextmanager
async def telegram(every: int, values: Sequence[Any]) -> AsyncIterator[Platform]:
    async with TelegramServer() as server:
        server.know(-9)

        def pushing(number: int, odd: Json) -> Act:
            names = {505: 50_000 + number, "Q7": f"Q{number}"}
            if "migrate_to_chat_id" in str(odd):  # that group is not written to any more
                names[-9] = -9_000 - number

            async def push() -> None:
                server.push(**renewed(odd, names))

            return push

        async def say(text: str) -> None:
            server.say(7, text)

        async def says(text: str) -> None:
            server.say(-9, f"@nano_bot {text}", sender=7)

        yield Platform(
            name="telegram",
            table=table("telegram", "7", token=server.token, api_root=server.root_url),
            events=[pushing(*each) for each in numbered(damaging.TELEGRAM, every, values)],
            say=say,
            texts=lambda: [message.text for message in server.messages(7)],
            says=says,
            written=lambda: [message.text for message in server.messages(-9)],
        )


@asynccontextmanager
async def slack(every: int, values: Sequence[Any]) -> AsyncIterator[Platform]:
    async with DenseSlack() as server:

        def pushing(number: int, odd: tuple[str, Json]) -> Act:
            kind, event = odd
            first, later = (f"{time.time() + later:.0f}.{number:06}" for later in (-9, 0))

            async def push() -> None:
                names = {damaging.TS: first, damaging.LATER: later, "1.3": f"1.3.{number}"}
                server.push(kind, renewed(event, names))

            return push

        odd = (
            (kind, odd) for kind, event in damaging.SLACK for odd in damaged(event, every, values)
        )
        yield Platform(
            name="slack",
            table=table(
                *("slack", "U1"),
                bot_token=server.bot_token,
                app_token=server.app_token,
                api_root=server.api_root,
                slash_command="/nanobot",
            ),
            events=[pushing(*each) for each in enumerate(odd)],
            say=_at_once(lambda text: server.say("D1", text)),
            texts=lambda: _slack_texts(server, "D1"),
            says=_at_once(lambda text: server.say("C1", f"<@UBOT> {text}")),
            written=lambda: _slack_texts(server, "C1"),
        )


def _at_once(act: Callable[[str], object]) -> Callable[[str], Awaitable[object]]:
    async def acting(text: str) -> object:
        return act(text)

    return acting


def _slack_texts(server: SlackServer, chat: str) -> list[str]:
    return list(map(slack_text, server.sent(chat)))


@asynccontextmanager
async def discord(every: int, values: Sequence[Any]) -> AsyncIterator[Platform]:
    async with LiveDiscord() as server:

        def pushing(number: int, odd: tuple[str, Json]) -> Act:
            kind, event = odd
            snowflakes = {f"110000000000000000{each}": each for each in range(2)}

            async def push() -> None:
                now = discord_rules.snowflake(time.time(), number * 2)
                new = {old: str(int(now) + each) for old, each in snowflakes.items()}
                await server.dispatch(kind, renewed(event, new))

            return push

        def texts(chat: str) -> list[str]:
            return [discord_rules.shown_text(message) for message in server.mine(chat)]

        odd = (
            (kind, odd) for kind, event in damaging.DISCORD for odd in damaged(event, every, values)
        )
        there = discord_server.CHANNEL
        yield Platform(
            name="discord",
            table=table("discord", "7", token=server.token, api_root=server.api_root),
            events=[pushing(*each) for each in enumerate(odd)],
            say=lambda text: server.say(DISCORD_DM, text),
            texts=lambda: texts(DISCORD_DM),
            says=lambda text: server.say(there, f"<@{discord_server.ME}> {text}"),
            written=lambda: texts(there),
        )


@asynccontextmanager
async def matrix(every: int, values: Sequence[Any]) -> AsyncIterator[Platform]:
    async with MatrixServer() as server:
        matrixing.group(server)

        def now() -> None:
            server.rooms.now = int(time.time() * 1000) - 1000

        def pushing(kind: str, odd: Json) -> Act:
            async def push() -> None:
                now()
                event = server.rooms.add(matrixing.GROUP, kind, {}, sender=matrix_rooms.ANN)
                event["content"] = odd

            return push

        def saying(room: str, text: str) -> None:
            now()
            server.say(room, text)

        odd = [
            (kind, odd) for kind, event in damaging.MATRIX for odd in damaged(event, every, values)
        ]
        yield Platform(
            name="matrix",
            table=table(
                *("matrix", matrix_rooms.ANN),
                homeserver=server.root_url,
                user=matrix_rooms.ME,
                password=server.password,
            ),
            events=[pushing(*each) for each in odd],
            say=_at_once(lambda text: saying(server.dm, text)),
            texts=lambda: server.texts(server.dm),
            says=_at_once(lambda text: saying(matrixing.GROUP, f"Nano: {text}")),
            written=lambda: server.texts(matrixing.GROUP),
        )


@asynccontextmanager
async def mattermost(every: int, values: Sequence[Any]) -> AsyncIterator[Platform]:
    async with MattermostServer() as server:
        server.now = time.time()
        frames = mattermost_frames(server)
        (post,) = server.posts

        def pushing(number: int, odd: Json) -> Act:
            async def push() -> None:
                new = f"{number:026}"
                server.posts[new] = server.posts[post] | {"id": new}
                frame = renewed(odd, {post: new})
                if number % 2 and isinstance(frame.get("data"), dict):  # JSON within JSON
                    data = {
                        key: json.dumps(frame["data"][key]) for key in INNER & frame["data"].keys()
                    }
                    frame["data"] = frame["data"] | data
                await server.raw(json.dumps(frame))

            return push

        yield Platform(
            name="mattermost",
            table=table("mattermost", ANN, **server.settings),
            events=[pushing(*each) for each in numbered(frames, every, values)],
            say=lambda text: server.say(server.dm, text),
            texts=lambda: server.texts(server.dm),
            says=lambda text: server.say(server.town, f"@nanobot {text}"),
            written=lambda: server.texts(server.town),
            deliveries=server.deliveries,
        )


@asynccontextmanager
async def whatsapp(every: int, values: Sequence[Any]) -> AsyncIterator[Platform]:
    """All chats there are private."""
    async with WhatsAppServer() as server:
        server.now = time.time()
        bodies = whatsapp_bodies(server)
        given = [f"wamid.HBgN{each:08}==" for each in range(1, len(bodies) + 1)]

        def pushing(number: int, odd: Json) -> Act:
            ids = {each: f"{each}{number}" for each in given}

            async def push() -> None:
                delivery = await server.push_raw(renewed(odd, ids))
                assert delivery.acknowledged, f"{delivery.status} to {odd}"

            return push

        yield Platform(
            name="whatsapp",
            table=table("whatsapp", PERSON, **server.settings),
            events=[pushing(*each) for each in numbered(bodies, every, values)],
            say=lambda text: server.say(PERSON, text),
            texts=lambda: server.texts(PERSON),
            says=lambda text: server.say(PERSON, text),
            written=lambda: server.texts(PERSON),
            deliveries=server.deliveries,
        )


PLATFORMS = (telegram, slack, discord, matrix, mattermost, whatsapp)
