"""Several files of one message on every platform that shows them together, whatever is cut off.

A channel that becomes ports.Albums is in these tests by being in PLATFORMS of the contract; what a
person sees of its files is to be said in SIDES.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from nanobot.channels.host import Hosting
from nanobot.channels.repeats import REPEAT_LINE
from nanobot.messages import Address, Attachment, OutboundKind, OutboundMessage
from nanobot.ports import Albums, Channel
from nanobot.system import SystemClock
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.platform import FakeChannel
from nanobot_channels.discord import DiscordChannel, Server
from nanobot_channels.mattermost import open_channel as open_mattermost
from nanobot_channels.slack import SlackChannel
from nanobot_channels.telegram import TelegramChannel
from tests.channels.seeing import states
from tests.channels.test_contract import PLATFORMS
from tests.channels.test_telegram_extras import png
from tests.doubles import discord_rules, discord_server
from tests.doubles.discord_server import DiscordServer
from tests.doubles.mattermost_server import MattermostServer, number
from tests.doubles.slack_rules import shown_text
from tests.doubles.slack_server import SlackServer
from tests.doubles.telegram_server import TelegramServer

CONTENTS = {"a.png": png(80, 60), "b.png": png(60, 80), "c.png": png(70, 70)}
NAMES = list(CONTENTS)
_METHODS = ("render", "send", "find", "send_file", "together", "send_album")


class Contents:
    """Blobs by the names of their files."""

    async def read(self, digest: str) -> bytes:
        return CONTENTS[digest]


class Side:
    """A platform: its double, a channel connected to it, what a person sees in one chat, and how
    one album is refused."""

    chat = ""

    def __init__(self, server: Any) -> None:
        self.server = server

    def channel(self) -> Channel:
        raise NotImplementedError

    def shown(self) -> list[list[str]]:
        """The names of the files of each message; the words of one without files."""
        raise NotImplementedError

    def refuse_album(self) -> None:
        raise NotImplementedError


class OnTelegram(Side):
    chat = "1"

    def channel(self) -> Channel:
        self.server.say(1, "hi")
        return TelegramChannel("checked", self.server.token, self.server.root_url)

    def shown(self) -> list[list[str]]:
        groups: dict[str, list[str]] = {}
        for message in self.server.messages(1):
            group = message.params.get("media_group_id") or f"m{message.message_id}"
            what = message.file.name if message.file else message.text
            groups.setdefault(group, []).append(what)
        return list(groups.values())

    def refuse_album(self) -> None:
        self.server.fail("sendMediaGroup", status=400)


class OnDiscord(Side):
    chat = discord_server.DM

    def channel(self) -> Channel:
        self.server.add_message(self.chat, "hi")
        where = Server(api_root=self.server.api_root)
        token = self.server.token
        return DiscordChannel("checked", token, where)

    def shown(self) -> list[list[str]]:
        return [
            [file["filename"] for file in message["attachments"]]
            or [discord_rules.shown_text(message).replace("\\", "")]
            for message in self.server.mine(self.chat)
        ]

    def refuse_album(self) -> None:
        route = "POST /channels/{channel}/messages"
        self.server.fail(route, status=413, code=40005, skip=1)


class OnSlack(Side):
    chat = "D1"

    def channel(self) -> Channel:
        tokens = (self.server.bot_token, self.server.app_token)
        root = self.server.api_root
        return SlackChannel("checked", tokens, root)

    def shown(self) -> list[list[str]]:
        return [
            [file["name"] for file in message.get("files", [])]
            or [shown_text(message["blocks"]) or message["text"]]
            for message in self.server.sent(self.chat)
        ]

    def refuse_album(self) -> None:
        self.server.fail("files.completeUploadExternal", error="file_not_found", times=1)


class OnMattermost(Side):
    chat = number("dm")

    def channel(self) -> Channel:
        return open_mattermost("checked", self.server.settings)

    def shown(self) -> list[list[str]]:
        return [
            [file["name"] for file in post["metadata"]["files"]] or [post["message"]]
            for post in self.server.mine(self.chat)
        ]

    def refuse_album(self) -> None:
        refusal = "model.post.is_valid.file_ids.app_error"
        self.server.fail("POST /posts", status=400, id=refusal, times=1, skip=1)


SIDES: dict[str, tuple[Callable[[], Any], type[Side]]] = {
    "telegram": (TelegramServer, OnTelegram),
    "discord": (DiscordServer, OnDiscord),
    "slack": (SlackServer, OnSlack),
    "mattermost": (MattermostServer, OnMattermost),
}


async def test_every_platform_with_albums_is_tried() -> None:
    with_albums = set()
    for platform in PLATFORMS:
        async with platform() as opened:
            channel = opened.channel()
            if isinstance(channel, Albums):
                with_albums.add(platform.__name__)
            await channel.close()
    assert with_albums == set(SIDES)


class Wired(FakeChannel):
    """A channel of the fake gateway whose messages go to a double over the wire."""

    def __init__(self, channel: Channel) -> None:
        super().__init__("checked", capabilities=channel.capabilities)
        for name in _METHODS:
            setattr(self, name, getattr(channel, name))


@asynccontextmanager
async def side_of(name: str) -> AsyncIterator[tuple[Side, Channel]]:
    server, side = SIDES[name]
    async with server() as opened:
        here = side(opened)
        channel = here.channel()
        try:
            yield here, channel
        finally:
            await channel.close()


async def _owe(bot: FakeGateway, chat: str) -> None:
    files = tuple(
        Attachment(kind="image", name=name, blob=name, size=len(content))
        for name, content in CONTENTS.items()
    )
    address = Address("checked", chat)
    message = OutboundMessage(
        address=address, text="Here.", key="k", kind=OutboundKind.POST, attachments=files
    )
    await bot.journal.post("checked:1", message)
    bot.bus.owed(address)
    await _settled(bot)


async def _settled(bot: FakeGateway) -> None:
    for _ in range(500):
        if bot.process.dead or states(bot) == ["sent"]:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"not sent: {states(bot)}")


@asynccontextmanager
async def _gateway(channel: Channel, home: MemoryHome) -> AsyncIterator[FakeGateway]:
    options = Options(hosting=Hosting(blobs=Contents()))
    async with gateway(channel=Wired(channel), home=home, options=options) as bot:
        yield bot


@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("verb", ["begin_send", "receipt"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_killed_process_leaves_one_album(
    name: str, verb: str, when: str, count: int
) -> None:
    """The text is sent, then the album; each commit around them is cut off on either side."""
    async with side_of(name) as (side, channel), MemoryHome(SystemClock()) as home:
        async with _gateway(channel, home) as bot:
            seen = 0

            def crash(committed: str) -> None:
                nonlocal seen
                seen += committed == verb
                if seen == count:
                    bot.crash()

            setattr(bot.process, when, crash)
            with suppress(TimeoutError):
                async with asyncio.timeout(5.0):
                    await _owe(bot, side.chat)
        async with _gateway(channel, home) as bot:
            await _settled(bot)
        if channel.capabilities.reconciles:
            assert side.shown() == [["Here."], NAMES]
        else:  # what cannot be looked up is repeated, and says so
            seen_here = [message for message in side.shown() if message != ["Here."]]
            albums = [message for message in seen_here if message == NAMES]
            repeats = sum(REPEAT_LINE in line for message in side.shown() for line in message)
            assert len(albums) - 1 <= repeats <= 1


@pytest.mark.parametrize("name", SIDES)
async def test_a_refused_album_arrives_file_by_file_and_each_once(name: str) -> None:
    """Killed after the first of the single files: of those that arrived none comes again."""
    async with side_of(name) as (side, channel), MemoryHome(SystemClock()) as home:
        side.refuse_album()
        async with _gateway(channel, home) as bot:
            receipts = 0

            def crash(verb: str) -> None:
                nonlocal receipts
                receipts += verb == "receipt"
                if receipts == 2:  # of the text, and of the first file
                    bot.crash()

            bot.process.after = crash
            await _owe(bot, side.chat)
        async with _gateway(channel, home) as bot:
            await _settled(bot)
        shown = [message for message in side.shown() if message != [REPEAT_LINE]]
        assert shown == [["Here."], *([name] for name in NAMES)]


@pytest.mark.parametrize("name", SIDES)
async def test_a_lost_answer_costs_no_second_album_where_it_can_be_looked_up(name: str) -> None:
    calls = {
        "telegram": ("sendMediaGroup", {}),
        "discord": ("POST /channels/{channel}/messages", {"skip": 1}),
        "slack": ("files.completeUploadExternal", {}),
        "mattermost": ("POST /posts", {"skip": 1}),
    }
    async with side_of(name) as (side, channel), MemoryHome(SystemClock()) as home:
        what, more = calls[name]
        side.server.fail(what, drop="after", times=1, **more)
        async with _gateway(channel, home) as bot:
            await _owe(bot, side.chat)
        reconciles = channel.capabilities.reconciles
        repeat = [] if reconciles else [[REPEAT_LINE], NAMES]
        assert side.shown() == [["Here."], NAMES, *repeat]
