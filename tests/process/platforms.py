"""Platforms for one gateway: what people do there, what they see, and what goes wrong."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from html import unescape
from random import Random
from typing import Any, NamedTuple

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.plugins.progress.previews import CURSOR
from tests.doubles import discord_rules
from tests.doubles.discord_server import ME, DiscordServer
from tests.doubles.slack_rules import Room, shown_text
from tests.doubles.slack_server import SlackServer
from tests.doubles.telegram_native import REFUSALS
from tests.doubles.telegram_server import TelegramServer
from tests.process.harness import World

Act = Callable[[], Awaitable[None]]

_STREAMS = ("chat.startStream", "chat.appendStream", "chat.stopStream")
_CONFLICT = "Conflict: terminated by other getUpdates request"
_RECENT = 16
_PIECES = 3
_PAUSE = 1
"""Seconds that a platform asks for when it complains."""


class Trouble(NamedTuple):
    """What goes wrong, by a name."""

    name: str
    act: Act


class Platform(ABC):
    """A platform with some private chats. `troubles` spoil a request or an event, `breaks` a
    connection; each of them is one of a kind that platforms are known for."""

    name: str
    certain = True
    """Whether a lost answer can be looked up, so that nothing need ever be repeated."""
    share = 1.0
    """How much is said in a chat, where it is so much elsewhere."""

    def __init__(self, rng: Random, chats: list[str]) -> None:
        self.rng = rng
        self.chats = chats
        self.troubles: list[Trouble] = []
        self.breaks: list[Trouble] = []

    @abstractmethod
    async def say(self, chat: str, text: str) -> None: ...

    @abstractmethod
    def shown(self, chat: str) -> list[str]:
        """What the bot said there."""

    @abstractmethod
    def recent(self, chat: str) -> list[str]:
        """The last of it."""

    @abstractmethod
    async def until(self, holds: Callable[[], bool], timeout: float) -> None: ...

    def started(self, line: str) -> None:  # noqa: B027 - most need not know
        """A gateway is ready, and said so in this line."""

    @abstractmethod
    async def connected(self) -> None:
        """Wait until what is said will arrive."""

    @abstractmethod
    async def left(self) -> None:
        """The gateway is dead."""

    def _trouble(self, act: Act) -> Trouble:
        return Trouble(f"{self.name}: {act.__name__.strip('_')}", act)

    def _once(self, what: str, fail: Callable[[], Callable[[], bool]]) -> Trouble:
        """One call goes wrong; `fail` arranges that, and returns what tells whether it has. While
        one waits for its call, there is no second."""
        spent: list[Callable[[], bool]] = [lambda: True]

        async def act() -> None:
            if spent[0]():
                spent[0] = fail()

        return Trouble(f"{self.name}: {what}", act)

    @abstractmethod
    def calm(self) -> None:
        """Nothing goes wrong any more."""

    @abstractmethod
    def table(self) -> str:
        """The platform in config.toml."""


class OnTelegram(Platform):
    name = "telegram"
    certain = False

    def __init__(self, server: TelegramServer, rng: Random, chats: int) -> None:
        super().__init__(rng, [str(number) for number in range(1, chats + 1)])
        self._server = server
        self._last: dict[str, Any] = {}
        # Every second chat is on a server that has no drafts and no rich messages.
        for number, chat in enumerate(self.chats[::2]):
            server.native.without[int(chat)] = REFUSALS[number % len(REFUSALS)]
        self.troubles = [self._trouble(self._again), self._trouble(self._older)]
        for method in ("sendRichMessage", "sendRichMessageDraft"):
            self.troubles.append(self._spoil(method, drop="after"))
            self.troubles.append(self._spoil(method, status=400, description="RICH_TOO_DEEP"))
        self.troubles.append(self._spoil("sendMessageDraft", status=400, description="no drafts"))
        self.troubles.append(self._spoil("sendMessageDraft", drop="after"))
        self.breaks = [self._spoil("getUpdates", status=409, description=_CONFLICT)]
        for fault in (
            {"status": 429, "retry_after": _PAUSE},
            {"status": 502},
            {"drop": "before"},
            {"drop": "after"},
            {"body": b"<html>"},
        ):
            self.troubles.append(self._spoil("sendMessage", **fault))
        for fault in ({"status": 500}, {"drop": "before"}, {"drop": "after"}, {"body": b"{"}):
            self.troubles.append(self._spoil("getUpdates", **fault))
        self.troubles.append(self._spoil("editMessageText", drop="after"))
        self.troubles.append(self._spoil("editMessageText", status=500))

    async def say(self, chat: str, text: str) -> None:
        self._last = self._server.say(int(chat), text)

    def shown(self, chat: str) -> list[str]:
        return [message.text for message in self._server.messages(int(chat))]

    def recent(self, chat: str) -> list[str]:
        return self.shown(chat)[-_RECENT:]

    async def until(self, holds: Callable[[], bool], timeout: float) -> None:
        await self._server.until(holds, timeout)

    async def connected(self) -> None:
        """Whatever is said is kept for whoever asks."""

    async def left(self) -> None:
        """Nothing to be seen of that."""

    def calm(self) -> None:
        self._server.heal()

    def table(self) -> str:
        return ""  # every world has it

    async def _older(self) -> None:
        """The server is replaced by one that has no drafts and no rich messages, or back."""
        self._server.native.off = not self._server.native.off

    async def _again(self) -> None:
        """An update comes twice."""
        self._server.push(message=self._last["message"])

    def _spoil(self, method: str, **fault: Any) -> Trouble:
        def fail() -> Callable[[], bool]:
            trouble = self._server.fail(method, times=1, **fault)
            return lambda: trouble.hits > 0

        return self._once(f"{method} {fault}", fail)


class LiveDiscord(DiscordServer):
    """Its time goes on: what it dates by when somebody spoke last is older than its sending."""

    def clock(self) -> float:
        return time.time()


class OnDiscord(Platform):
    name = "discord"

    def __init__(self, server: LiveDiscord, rng: Random, chats: int) -> None:
        super().__init__(rng, [str(601 + number) for number in range(chats)])
        self._server = server
        server.channels |= {chat: {"id": chat, "type": 1} for chat in self.chats}
        server.without = set(self.chats[::2])
        self._last: dict[str, Any] = {}
        self.troubles = [self._trouble(self._again)]
        for fault in (
            {"status": 429, "retry_after": _PAUSE},
            {"status": 503},
            {"drop": "before"},
            {"drop": "after"},
        ):
            self.troubles.append(self._spoil("POST /channels/{channel}/messages", **fault))
        self.troubles.append(
            self._spoil("GET /channels/{channel}/messages", status=429, retry_after=_PAUSE)
        )
        self.troubles.append(
            self._spoil("PATCH /channels/{channel}/messages/{message}", drop="after")
        )
        breaks = (self._cut, self._close, self._op7, self._resume, self._forget)
        self.breaks = [self._trouble(act) for act in breaks]

    async def say(self, chat: str, text: str) -> None:
        self._last = await self._server.say(chat, text)

    def shown(self, chat: str) -> list[str]:
        return [discord_rules.shown_text(message) for message in self._server.mine(chat)]

    def recent(self, chat: str) -> list[str]:
        latest = self._server.history.get(chat, [])[-_RECENT:]
        mine = [message for message in latest if message["author"]["id"] == ME]
        return [discord_rules.shown_text(message) for message in mine]

    async def until(self, holds: Callable[[], bool], timeout: float) -> None:
        await self._server.until(holds, timeout)

    async def connected(self) -> None:
        await self._server.until(lambda: bool(self._server.sessions))

    async def left(self) -> None:
        """Its session can be forgotten."""
        self._server.sessions.clear()

    def calm(self) -> None:
        self._server.heal()

    def table(self) -> str:
        return f"{discord_table(self._server)}backfill_messages = 1000\n"

    def _spoil(self, route: str, **fault: Any) -> Trouble:
        def fail() -> Callable[[], bool]:
            trouble = self._server.fail(route, **fault)
            return lambda: trouble.hits > 0

        return self._once(f"{route} {fault}", fail)

    async def _again(self) -> None:
        """An event comes twice."""
        await self._server.announce("MESSAGE_CREATE", self._last)

    async def _cut(self) -> None:
        if self._server.connections:
            self._server.cut()

    async def _close(self) -> None:
        if self._server.connections:
            await self._server.end(4000)

    async def _op7(self) -> None:
        if self._server.connections:
            await self._server.ask_to_reconnect()

    async def _resume(self) -> None:
        if self._server.connections:
            await self._server.invalidate(resumable=True)

    async def _forget(self) -> None:
        """The session is gone: it cannot be resumed."""
        if self._server.connections:
            await self._server.invalidate(resumable=False)


class DenseSlack(SlackServer):
    """Its time is the world's: thousands of messages are not hours."""

    _tick = itertools.count(1)

    def clock(self) -> float:
        return time.time()

    def timestamp(self) -> str:
        return f"{int(time.time())}.{next(self._tick):06}"


class OnSlack(Platform):
    name = "slack"

    def __init__(self, server: DenseSlack, rng: Random, chats: int) -> None:
        super().__init__(rng, [f"D{number}" for number in range(1, chats + 1)])
        self._server = server
        server.rooms |= {chat: Room() for chat in self.chats}
        # Every other chat is an assistant's: all of it is said in one thread.
        self._threads = {
            chat: server.say(chat, "New chat", user="UBOT", quiet=True)["ts"]
            for chat in self.chats[::2]
        }
        self._last: dict[str, Any] = {}
        self.troubles = [self._trouble(self._again), self._trouble(self._deaf)]
        self.troubles += [self._trouble(self._older), *map(self._stream_spoiled, _STREAMS)]
        for fault in (
            {"status": 429, "error": "ratelimited", "retry_after": _PAUSE},
            {"status": 503},
            {"drop": "before"},
            {"drop": "after"},
            {"error": "internal_error"},
        ):
            self.troubles.append(self._spoil("chat.postMessage", **fault))
        self.troubles.append(self._spoil("chat.update", drop="after"))
        self.troubles.append(
            self._spoil("conversations.history", status=429, error="x", retry_after=_PAUSE)
        )
        self.breaks = [self._trouble(act) for act in (self._cut, self._refresh, self._lost)]

    async def say(self, chat: str, text: str) -> None:
        thread = {"thread_ts": self._threads[chat]} if chat in self._threads else {}
        event = self._server.say(chat, text, **thread)
        self._last = event | {"channel": chat, "channel_type": "im"}

    def shown(self, chat: str) -> list[str]:
        return [slack_text(message) for message in self._server.sent(chat)]

    def recent(self, chat: str) -> list[str]:
        room = self._server.rooms[chat].messages[-_RECENT:]
        return [slack_text(message) for message in room if message.get("bot_id")]

    async def until(self, holds: Callable[[], bool], timeout: float) -> None:
        await self._server.until(holds, timeout)

    async def connected(self) -> None:
        await self._server.connected()

    async def left(self) -> None:
        """Every other time Slack has given up on what it could not deliver."""
        await self._server.until(lambda: not self._server.connections)
        if self.rng.random() < 0.5:
            self._server.give_up()

    def calm(self) -> None:
        self._server.heal()
        self._server.deaf = 0
        self._server.redeliver()

    def table(self) -> str:
        return f"{slack_table(self._server)}backfill_messages = 1000\n"

    def _spoil(self, method: str, **fault: Any) -> Trouble:
        def fail() -> Callable[[], bool]:
            trouble = self._server.fail(method, times=1, **fault)
            return lambda: trouble.hits > 0

        return self._once(f"{method} {fault}", fail)

    async def _again(self) -> None:
        """An event comes again, in an envelope of its own."""
        self._server.event(self._last)

    async def _deaf(self) -> None:
        """Acknowledgements get lost, and Slack delivers again."""
        self._server.redeliver()
        self._server.deaf = 3

    def _stream_spoiled(self, method: str) -> Trouble:
        return self._spoil(method, drop=self.rng.choice(["before", "after"]))

    async def _older(self) -> None:
        """The workspace has no streams any more, not those that were begun either, or has them
        again."""
        self._server.expire_all()
        self._server.unknown = frozenset() if self._server.unknown else frozenset(_STREAMS)

    async def _cut(self) -> None:
        self._server.cut()

    async def _refresh(self) -> None:
        if self._server.connections:
            await self._server.disconnect()

    async def _lost(self) -> None:
        """The line breaks, and Slack gives up before it is back."""
        self._server.cut()
        await self._server.until(lambda: not self._server.connections)
        self._server.give_up()


def slack_text(message: dict[str, Any]) -> str:
    """What people see: the blocks, or the text of a message in the oldest form, which has none."""
    return shown_text(message["blocks"]) or unescape(str(message.get("text", "")))


def told_once(shown: list[str]) -> list[str]:
    """The texts without what was repeated. A repeat is marked by its last line, or by a line of
    its own before it, and comes right after what it may repeat: one message, or the several that
    an answer was where nothing richer is known."""
    kept: list[str] = []
    marked = False
    for text in shown:
        plain = text.removesuffix(REPEAT_LINE).rstrip()
        if not plain:
            marked = True
            continue
        if marked or plain != text.rstrip():
            same = [at for at, before in enumerate(kept) if _may_be(before, plain)]
            if marked and kept and kept[-1].startswith(plain):
                same.append(len(kept) - 1)  # as one message before, now as several
            if same and len(kept) - same[-1] <= (_PIECES if marked else 1):
                del kept[same[-1] :]
        kept.append(plain)
        marked = False
    return kept


def _may_be(before: str, text: str) -> bool:
    """Whether a message is the other, or a preview of it."""
    return before == text or (before.endswith(CURSOR) and text.startswith(before[:-1].rstrip()))


def discord_table(server: DiscordServer) -> str:
    return f"""
[channels.discord]
token = "{server.token}"
api_root = "{server.api_root}"
owners = ["7"]
"""


def slack_table(server: SlackServer) -> str:
    return f"""
[channels.slack]
bot_token = "{server.bot_token}"
app_token = "{server.app_token}"
api_root = "{server.api_root}"
owners = ["U1"]
"""


@asynccontextmanager
async def discord_beside(world: World, more: str = "") -> AsyncIterator[DiscordServer]:
    """A Discord that the world's gateway will serve, with `more` in its configuration."""
    async with DiscordServer() as server:
        server.now = time.time()  # its Date and the ids of its messages are of one clock
        world.configure(more=discord_table(server) + more)
        yield server


@asynccontextmanager
async def slack_beside(world: World) -> AsyncIterator[SlackServer]:
    """A Slack that the world's gateway will serve."""
    async with SlackServer(start=int(time.time()) - 3600) as server:
        world.configure(more=slack_table(server))
        yield server
