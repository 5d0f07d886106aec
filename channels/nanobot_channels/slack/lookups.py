"""Data missing from events, which takes a call: display names and threads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from loguru import logger

from nanobot.messages import Address
from nanobot_channels.common.recent import Recent
from nanobot_channels.common.shapes import BadEvent, listed, string, table
from nanobot_channels.common.text import clean
from nanobot_channels.slack.api import FAILED, ApiRefusal, WebApi, is_passing
from nanobot_channels.slack.events import BotUser, ThreadContext, UserMessage, convert
from nanobot_channels.slack.text import mentions

_MOST = 2000
# Slack requires a message to be acknowledged within 3 seconds; a name is less important than that.
_SECONDS = 1.0
_REPLIES = 200


class People:
    """Display names and languages by user id; the last two thousand are remembered."""

    def __init__(self, api: WebApi) -> None:
        self._api = api
        self._names: Recent[str, str] = Recent(_MOST)
        self._languages: Recent[str, str] = Recent(_MOST)

    def language(self, person: str) -> str:
        """Which language Slack shows to somebody whose name was looked up ("zh-CN"), else ""."""
        return self._languages.get(person, "")

    async def names(self, ids: Iterable[str]) -> dict[str, str]:
        """Names by user id, without those that cannot be looked up in time."""
        people = sorted(set(ids) - {""})
        try:
            async with asyncio.timeout(_SECONDS):
                for person in people:
                    if person not in self._names:
                        await self._ask(person)
        except TimeoutError:
            logger.debug("names take too long; the message goes without")
        names = {}
        for person in people:
            if self._names.get(person):
                self._names.move_to_end(person)
                names[person] = self._names[person]
        return names

    async def _ask(self, person: str) -> None:
        name = ""
        try:
            asked = {"user": person, "include_locale": True}
            answer = await self._api.call("users.info", asked, form=True)
            name = _display_name(answer.get("user"))
            self._languages[person] = string(table(answer.get("user")).get("locale"))
        except FAILED as error:
            logger.debug("no name for {}: {}", person, error)
            if not isinstance(error, ApiRefusal) or is_passing(error):
                return
        self._names[person] = name


def _display_name(user: object) -> str:
    about = table(user)
    fields = table(about.get("profile"))
    names = (fields.get("display_name"), fields.get("real_name"), about.get("name"))
    name = next((name for name in map(string, names) if name.strip()), "")
    return clean(name).replace("\n", " ").strip()


class Writers:
    """The author of each message, with their team; of the last two thousand."""

    def __init__(self) -> None:
        self._writers: Recent[tuple[str, str], tuple[str, str]] = Recent(_MOST)

    def wrote(self, chat: str, message_id: str, user: str, team: str) -> None:
        """Remember a message."""
        self._writers[chat, message_id] = (user, team)

    def of(self, chat: str, message_id: str | None) -> dict[str, str]:
        """The recipient of an answer to a message, in the form for chat.startStream; {} if
        unknown.
        """
        user, team = self._writers.get((chat, message_id or ""), ("", ""))
        return {"recipient_user_id": user, "recipient_team_id": team} if user and team else {}


class Threads:
    """The threads that the bot takes part in: it wrote there, or the root mentions it. The last two
    thousand are remembered; an unknown one takes one call to Slack.
    """

    def __init__(self, api: WebApi) -> None:
        self._api = api
        self._joined: Recent[tuple[str, str], bool | None] = Recent(_MOST)

    def remember(self, addresses: Iterable[Address]) -> None:
        """Remember threads with earlier messages: their roots are not quoted again."""
        for address in addresses:
            if address.thread_id:
                self._joined.setdefault((address.chat_id, address.thread_id), None)

    def knows(self, chat: str, root: str) -> bool:
        """Whether there was a message in this thread, in either direction."""
        return (chat, root) in self._joined

    def join(self, chat: str, root: str) -> None:
        """Remember that the bot wrote in this thread."""
        self._keep((chat, root), joined=True)

    async def around(self, item: UserMessage, me: BotUser) -> ThreadContext:
        """The thread around a message; an empty one outside threads and if Slack cannot tell."""
        root = item.thread
        if root is None:
            return ThreadContext()
        key = (item.chat, root)
        joined = self._joined.get(key)
        if joined is not None:
            return ThreadContext(joined=joined)
        first = key not in self._joined
        try:
            async with asyncio.timeout(_SECONDS):
                context = await self._ask(item.chat, root, me)
        except (TimeoutError, BadEvent, *FAILED) as error:
            logger.debug("thread {} of {} is unknown: {!r}", root, item.chat, error)
            return ThreadContext()
        self._keep(key, joined=context.joined)
        return context if first else ThreadContext(joined=context.joined)

    async def _ask(self, chat: str, root: str, me: BotUser) -> ThreadContext:
        params = {"channel": chat, "ts": root, "limit": _REPLIES}
        answer = await self._api.call("conversations.replies", params, form=True)
        messages = [convert(item) for item in listed(answer.get("messages"))]
        parent = next((message for message in messages if message.ts == root), None)
        text = parent.shown if parent else ""
        author = parent.user if parent else ""
        ours = any(
            message.user == me.user_id
            or (me.bot_id and message.bot_id == me.bot_id)
            or me.user_id in message.reply_users
            for message in messages
        )
        return ThreadContext(ours or mentions(text, me.user_id), text, author)

    def _keep(self, key: tuple[str, str], *, joined: bool) -> None:
        self._joined[key] = joined
