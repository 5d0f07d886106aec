"""The bot's user and roles, and the place of each channel: its guild, or a thread's parent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from nanobot.messages import Address
from nanobot_channels.common.shapes import BadEvent, shaped
from nanobot_channels.discord.http import DiscordHttp, Refusal
from nanobot_channels.discord.messages import BotUser, ChannelPlace

_THREADS = {10, 11, 12}
_GROUP_DM = 3
_MOST = 100_000
_UNCHOSEN = "en-US"


class _Channel(msgspec.Struct):
    id: str
    type: int = 0
    parent_id: str | None = None
    guild_id: str | None = None


class _Tags(msgspec.Struct):
    bot_id: str | None = None


class _Role(msgspec.Struct):
    id: str
    tags: _Tags | None = None


class _Guild(msgspec.Struct):
    id: str
    channels: list[_Channel] = []
    threads: list[_Channel] = []
    roles: list[_Role] = []
    preferred_locale: str = ""


class _Named(msgspec.Struct):
    role: _Role


class _Threads(msgspec.Struct):
    guild_id: str
    threads: list[_Channel] = []


class _Ready(msgspec.Struct):
    user: _Role
    guilds: list[_Role] = []
    private_channels: list[_Channel] = []


class ChannelDirectory:
    """Filled from gateway events; other channels are requested over HTTP."""

    def __init__(self, http: DiscordHttp) -> None:
        self.me: BotUser | None = None
        self._http = http
        self._places: dict[str, ChannelPlace] = {}
        self._roles: set[str] = set()
        self._languages: dict[str, str] = {}

    def ready(self, data: object) -> tuple[set[str], list[str]]:
        """The READY event: sets `me`. Returns the ids of the expected guilds, and of the direct
        chats. Raises BadEvent.
        """
        ready = shaped(data, _Ready)
        self.me = BotUser(ready.user.id, frozenset(self._roles))
        for channel in ready.private_channels:
            self._learn(channel, "")
        return {guild.id for guild in ready.guilds}, [
            private_channel.id for private_channel in ready.private_channels
        ]

    def guild(self, data: object) -> str:
        """A guild with its channels, threads and roles; returns its id. Raises
        BadEvent."""
        guild = shaped(data, _Guild)
        for channel in (*guild.channels, *guild.threads):
            self._learn(channel, guild.id)
        self._own(guild.roles)
        self._languages[guild.id] = guild.preferred_locale
        return guild.id

    def language(self, place: ChannelPlace) -> str:
        """The language that the owners of a guild chose for it. Every guild has one: "en-US" is
        what nobody chose, and says nothing."""
        language = self._languages.get(place.guild, "")
        return "" if language == _UNCHOSEN else language

    def other(self, event: str, data: Any) -> None:
        """Any other event: reads its information on channels, roles or threads. Raises
        BadEvent.
        """
        if event.startswith("GUILD_ROLE"):
            self._own([shaped(data, _Named).role])
        elif event == "THREAD_LIST_SYNC":
            sync = shaped(data, _Threads)
            for channel in sync.threads:
                self._learn(channel, sync.guild_id)
        else:
            self._learn(shaped(data, _Channel), "")

    def direct(self, channel_id: str) -> ChannelPlace:
        """The place of a chat with one person; stores it."""
        return self._places.setdefault(channel_id, ChannelPlace())

    def is_direct(self, address: Address) -> bool:
        """Whether it is known that the bot and one person are alone there."""
        place = self._places.get(address.chat_id)
        return address.thread_id is None and place is not None and not place.group

    async def of(self, channel_id: str, guild: str = "") -> ChannelPlace:
        """The place of a channel. Raises as DiscordHttp.request, except for a channel that the bot
        may not see: that one counts as an ordinary channel.
        """
        place = self._places.get(channel_id)
        if place is not None:
            return place
        try:
            channel = await self._http.get_channel(int(channel_id))
            self._learn(shaped(channel, _Channel), guild)
        except Refusal as refusal:
            if refusal.status not in {400, 403, 404}:
                raise
        except BadEvent:
            pass
        return self._places.setdefault(channel_id, ChannelPlace(guild))

    async def at(self, address: Address) -> ChannelPlace:
        """The place of a chat that had messages before. Raises as `of`."""
        if address.thread_id:
            place = self._places.get(address.thread_id)
            return place or ChannelPlace(several=True, parent=address.chat_id)
        return await self.of(address.chat_id)

    def _learn(self, channel: _Channel, guild: str) -> None:
        if len(self._places) >= _MOST:
            self._places.clear()
        parent = channel.parent_id if channel.type in _THREADS else None
        self._places[channel.id] = ChannelPlace(
            channel.guild_id or guild, parent or "", several=channel.type == _GROUP_DM
        )

    def _own(self, roles: Iterable[_Role]) -> None:
        if self.me is None:
            return
        self._roles |= {role.id for role in roles if role.tags and role.tags.bot_id == self.me.id}
        self.me = BotUser(self.me.id, frozenset(self._roles))
