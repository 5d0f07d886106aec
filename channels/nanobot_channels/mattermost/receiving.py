"""Admits one bot's posts to one intake: missed ones first, then live ones, in order, once each."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import aiohttp
import msgspec
from loguru import logger

from nanobot.errors import ChannelDown
from nanobot.messages import Address, InboundMessage, deletion
from nanobot.ports import Intake
from nanobot.system import proxy_for, trusted_authorities
from nanobot_channels.common.json_api import FAILED
from nanobot_channels.common.recent import Recent
from nanobot_channels.common.shapes import BadEvent, string, table, tables
from nanobot_channels.mattermost.api import RestApi, receiving_error
from nanobot_channels.mattermost.events import (
    Around,
    Bot,
    Post,
    inbound,
    is_direct,
    is_of_person,
    post_of,
    reaction,
)
from nanobot_channels.mattermost.settings import Settings

PING_SECONDS = 30.0
_MOST = 2_000
_MOST_CHANNELS = 500
_MARGIN_MS = 1_000
_LOOK_SECONDS = 3.0


class Receiver:
    """Receives for one account. It remembers kinds of channels and the bot's threads, and requests
    unknown ones.
    """

    def __init__(self, name: str, settings: Settings, api: RestApi) -> None:
        self._name = name
        self._settings = settings
        self._api = api
        self._direct: Recent[str, bool] = Recent(_MOST)
        self._threads: Recent[str, bool] = Recent(_MOST)
        self._names: Recent[str, str] = Recent(_MOST)
        self._newest = 0

    async def run(self, intake: Intake, bot: Bot) -> None:
        """Receive until cancelled. Missed posts are admitted before anything live, so that the
        cursor never skips a post. Raises ChannelDown, and what the intake raises.
        """
        url = f"{self._api.root.replace('http', 'ws', 1)}/websocket"
        try:
            async with self._api.session().ws_connect(
                url,
                heartbeat=PING_SECONDS,
                max_msg_size=4 << 20,
                ssl=trusted_authorities(self._api.root),
                proxy=proxy_for(self._api.root),
            ) as socket:
                data = {"token": self._settings.token}
                hello = {"seq": 1, "action": "authentication_challenge", "data": data}
                await socket.send_str(msgspec.json.encode(hello).decode())
                await self._until_hello(socket)
                intake.alive()
                await self._backfill(intake, bot)
                async with asyncio.TaskGroup() as tasks:
                    beat = tasks.create_task(self._beat(socket, intake))
                    async for frame in socket:
                        if frame.type is aiohttp.WSMsgType.TEXT:
                            await self._take(frame.data, intake, bot)
                    beat.cancel()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ChannelDown(f"Mattermost's websocket: {error!r}") from error
        except ExceptionGroup as group:
            raise group.exceptions[0] from group
        raise ChannelDown("Mattermost closed the websocket")

    async def _until_hello(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async with asyncio.timeout(10.0):
            async for frame in socket:
                if frame.type is not aiohttp.WSMsgType.TEXT:
                    continue
                try:
                    told = table(msgspec.json.decode(frame.data))
                except (msgspec.DecodeError, RecursionError):
                    continue
                if told.get("event") == "hello":
                    return
        raise ChannelDown("Mattermost's websocket does not take the token")

    async def _beat(self, socket: aiohttp.ClientWebSocketResponse, intake: Intake) -> None:
        """Aiohttp closes the socket if a ping has no answer."""
        while not socket.closed:
            intake.alive()
            await asyncio.sleep(PING_SECONDS)

    # Live

    async def _take(self, frame: str, intake: Intake, bot: Bot) -> None:
        try:
            told = table(msgspec.json.decode(frame))
            message = await self._event(told, bot)
        except (msgspec.DecodeError, RecursionError, BadEvent) as error:
            logger.warning("{}: an event is skipped: {}", self._name, error)
            return
        if message is not None:
            await intake.admit([message], str(self._newest) if self._newest else None)

    async def _event(self, told: dict[str, Any], bot: Bot) -> InboundMessage | None:
        kind, data = string(told.get("event")), table(told.get("data"))
        if kind == "post_deleted":
            return self._deletion(post_of(data.get("post")))
        if kind in {"posted", "post_edited"}:
            post = post_of(data.get("post"))
            if "channel_type" in data:
                self._direct[post.channel_id] = data["channel_type"] == "D"
            name = string(data.get("sender_name"))
            return await self._message(post, bot, name=name, edited=kind == "post_edited")
        if kind == "reaction_added":
            place = string(table(told.get("broadcast")).get("channel_id"))
            direct = await self.is_direct(place)
            return reaction(data.get("reaction"), (self._name, place), bot, direct=direct)
        return None

    async def _message(
        self, post: Post, bot: Bot, *, edited: bool, name: str = ""
    ) -> InboundMessage | None:
        if not edited:
            self._newest = max(self._newest, post.create_at)
        if post.delete_at:
            return self._deletion(post)
        if not is_of_person(post, bot) or (edited and not post.edit_at):
            return None
        if name:
            self._names[post.user_id] = name
        direct = await self.is_direct(post.channel_id)
        joined, root = (False, None) if direct else await self._thread(post.root_id, bot)
        around = Around(direct, joined, self._names.get(post.user_id, ""), root)
        return inbound(post, self._name, bot, around, edited=edited)

    def _deletion(self, post: Post) -> InboundMessage:
        return deletion(Address(self._name, post.channel_id, post.root_id or None), post.id)

    # Missed posts

    async def _backfill(self, intake: Intake, bot: Bot) -> None:
        """Admit the posts since the cursor, of all channels together in the order of time."""
        cursor = await intake.cursor()
        if cursor is None or not cursor.isdecimal():
            self._newest = int(self._api.time.now() * 1000)
            await intake.admit([], str(self._newest))
            return
        since = int(cursor)
        self._newest = max(self._newest, since)
        posts: list[tuple[int, bool, Post]] = []
        try:
            channels = tables(await self._api.call("channels", f"/users/{bot.id}/channels"))
            active = [each for each in channels if _last(each) >= since - _MARGIN_MS]
            active.sort(key=_last, reverse=True)
            for channel in active[:_MOST_CHANNELS]:
                intake.alive()
                number = string(channel.get("id"))
                self._direct[number] = is_direct(channel)
                query = {"since": str(max(since - _MARGIN_MS, 0))}
                path = f"/channels/{number}/posts"
                answer = table(await self._api.call("posts", path, query=query))
                posts += self._missed(table(answer.get("posts")), since)
        except FAILED as error:
            raise receiving_error(self._name, error) from error
        posts.sort(key=lambda found: found[0])
        for _, edited, post in posts:
            message = await self._message(post, bot, edited=edited)
            if message is not None:
                await intake.admit([message], str(self._newest))

    def _missed(self, shown: dict[str, Any], since: int) -> list[tuple[int, bool, Post]]:
        found = []
        for item in shown.values():
            try:
                post = post_of(item)
            except BadEvent as error:
                logger.warning("{}: a missed post is skipped: {}", self._name, error)
                continue
            if post.create_at >= since:
                found.append((post.create_at, False, post))
            changed_at = max(post.edit_at, post.delete_at)
            if post.create_at <= since and changed_at >= since - _MARGIN_MS:
                found.append((changed_at, True, post))
        return found

    # Data missing from events

    async def is_direct(self, channel_id: str) -> bool:
        """Whether a channel is between the bot and one person; False if that is currently
        unknown.
        """
        if channel_id not in self._direct:
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    answer = await self._api.call("channel", f"/channels/{channel_id}")
            except (TimeoutError, *FAILED) as error:
                logger.debug("{}: channel {} is unknown: {!r}", self._name, channel_id, error)
                return False
            self._direct[channel_id] = is_direct(table(answer))
        return self._direct[channel_id]

    def joined(self, root: str) -> None:
        """The bot wrote in this thread."""
        if root:
            self._threads[root] = True

    async def _thread(self, root: str, bot: Bot) -> tuple[bool, Post | None]:
        """Whether the bot takes part in a thread; of a thread that was unknown, the first post."""
        if not root:
            return False, None
        first = None
        if root not in self._threads:
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    answer = table(await self._api.call("thread", f"/posts/{root}/thread"))
            except (TimeoutError, *FAILED) as error:
                logger.debug("{}: thread {} is unknown: {!r}", self._name, root, error)
                return False, None
            posts = table(answer.get("posts"))
            self._threads[root] = any(table(p).get("user_id") == bot.id for p in posts.values())
            with suppress(BadEvent):
                first = post_of(posts.get(root))
        return self._threads[root], first


def _last(channel: dict[str, Any]) -> int:
    value = channel.get("last_post_at")
    return value if isinstance(value, int) else 0
