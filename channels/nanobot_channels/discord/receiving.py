"""From the gateway's events to the intake: in order, once each, and nothing lost by a crash."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Any, Protocol

import msgspec
from loguru import logger

from nanobot.errors import ChannelDown, DeliveryError, StoreError
from nanobot.messages import Address, InboundMessage
from nanobot.ports import Clock, Intake
from nanobot_channels.common.recent import Recent
from nanobot_channels.common.shapes import BadEvent, table
from nanobot_channels.discord.channels import ChannelDirectory
from nanobot_channels.discord.gateway import Gateway
from nanobot_channels.discord.history import History
from nanobot_channels.discord.http import DiscordHttp, Refusal, receiving_error
from nanobot_channels.discord.interactions import (
    NOT_KEPT,
    Interaction,
    acknowledgement,
    interaction_message,
    parse_interaction,
)
from nanobot_channels.discord.messages import (
    BotUser,
    ChannelPlace,
    Message,
    is_snowflake,
    parse,
    snowflake_at,
    to_inbound,
)
from nanobot_channels.discord.reactions import (
    Reaction,
    emoji_of,
    parse_reaction,
    reaction_message,
    reactions_by,
)
from nanobot_channels.discord.sending import snowflake, target
from nanobot_channels.discord.sent import SentMessages

_MOST_REACTING = 100
"""People by each emoji who are looked at; what Discord tells in one call."""
MOST_WAITING = 10_000
"""Events in memory; with more, the connection is given up and what is in them looked up later."""

_GUILDS_SECONDS = 5.0
_RECENT = 4096
# Snowflakes of different chats arrive a little out of order: what is looked up begins this much
# before the cursor, and what was seen before is dropped by its dedupe_key.
_MARGIN_SECONDS = 60.0


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How far back to look in a chat. `content`: the message content intent is requested."""

    messages: int = 100
    hours: float = 24.0
    content: bool = True


class Cursor(msgspec.Struct, frozen=True):
    """The id of the latest message, and the first id after the bot's very first start: earlier
    messages are never looked up."""

    latest: int
    first: int = 0

    def __str__(self) -> str:
        return f"{self.latest}:{self.first}"

    @classmethod
    def of(cls, text: str | None) -> Cursor | None:
        """The stored cursor; None if the text is none."""
        latest, _, first = (text or "").partition(":")
        if not is_snowflake(latest) or not is_snowflake(first or "0"):
            return None
        return cls(int(latest), int(first or "0"))


class Commands(Protocol):
    """Who hears of interactions."""

    def used(self, interaction: Interaction) -> None:
        """One has come; nobody has answered it."""
        ...

    def acknowledged(self, interaction: Interaction, *, well: bool) -> None:
        """Its first answer was taken, or could not be given."""
        ...


class Receiver:
    """One run of one bot: events on their way to one intake.

    The cursor moves only while nothing is being looked up: wherever a process dies, the next one
    looks up from there. Chats that are being looked up hold
    their live messages back; buttons and commands, which no history has, are never held.
    """

    def __init__(
        self,
        name: str,
        http: DiscordHttp,
        gateway: Gateway,
        clock: Clock,
        limits: Limits,
        commands: Commands,
    ) -> None:
        self.skipped = 0
        self.sent = SentMessages()
        self._name = name
        self._http = http
        self._gateway = gateway
        self._clock = clock
        self._limits = limits
        self._commands = commands
        self._history = History(name, http, clock, limits.messages)
        self._places = ChannelDirectory(http)
        self._warned = False

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. Raises BadCredentials, ChannelDown, and what the intake
        raises."""
        self._intake = intake
        self._events: deque[tuple[str, Any]] = deque()
        self._news = asyncio.Event()
        self._held: dict[str, list[InboundMessage]] = {}
        self._recent: Recent[str, None] = Recent(_RECENT)
        self._guilds: set[str] = set()
        self._guilds_received = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._latest = self._stored = self._first = 0
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                tasks.create_task(self._gateway.listen(self._take, intake.alive))
                tasks.create_task(self._work())
        except ExceptionGroup as group:
            raise _first(group) from group
        finally:
            if self._events or self._looking is not None:
                # What was received and not admitted would not be sent again: begin anew, and look
                # it up.
                self._gateway.session = None

    def is_direct(self, address: Address) -> bool:
        """Whether it is known that the bot and one person are alone there."""
        return self._places.is_direct(address)

    def _take(self, event: str, data: Any) -> None:
        if len(self._events) >= MOST_WAITING:
            raise ChannelDown("more events arrive from Discord than can be stored")
        self._events.append((event, data))
        self._news.set()

    async def _work(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._events:
                # An event leaves the queue once it is done with: see `run`.
                event, data = self._events[0]
                try:
                    await self._handle(event, data)
                except (BadEvent, msgspec.ValidationError) as error:
                    self.skipped += 1
                    number = table(data).get("id")
                    logger.warning("{}: {} {} skipped: {}", self._name, event, number, error)
                except (Refusal, DeliveryError) as error:
                    raise receiving_error(self._name, error) from error
                except StoreError:
                    await self._tell_of_presses()
                    raise
                self._events.popleft()

    async def _tell_of_presses(self) -> None:
        """Presses and commands have no history: people have to repeat those that were not kept."""
        for event, data in list(self._events):
            if event == "INTERACTION_CREATE":
                with suppress(BadEvent, msgspec.ValidationError, Refusal, DeliveryError):
                    press = parse_interaction(data)
                    await self._http.answer_interaction(press.id, press.token, NOT_KEPT)

    async def _handle(self, event: str, data: Any) -> None:
        match event:
            case "READY":
                await self._begin(data)
            case "RESUMED":
                pass
            case "GUILD_CREATE":
                self._guilds.discard(self._places.guild(data))
                if not self._guilds:
                    self._guilds_received.set()
            case "MESSAGE_CREATE" | "MESSAGE_UPDATE":
                await self._message(data, edited=event == "MESSAGE_UPDATE")
            case "MESSAGE_REACTION_ADD":
                await self._reaction(parse_reaction(data))
            case "INTERACTION_CREATE":
                await self._interaction(parse_interaction(data))
            case _:
                self._places.other(event, data)

    async def _begin(self, ready: object) -> None:
        """A new session: the history since the cursor has to be looked up."""
        try:
            self._guilds, private = self._places.ready(ready)
        except msgspec.ValidationError as error:
            # Without it nothing would be looked up, and no mention recognised.
            raise ChannelDown(f"Discord does not tell who the bot is: {error}") from error
        self._guilds_received.clear()
        if not self._guilds:
            self._guilds_received.set()
        if self._looking is not None:
            self._looking.cancel()
        now = await self._http.now()
        await self._intake.account((self._places.me or BotUser("")).id)
        stored = Cursor.of(await self._intake.cursor())
        if stored is None:
            self._looking = None
            self._latest = self._first = snowflake_at(now)
            await self._intake.admit([], self._cursor(self._latest))
            return
        oldest = snowflake_at(now - self._limits.hours * 3600)
        self._stored, self._first = stored.latest, stored.first
        self._latest = max(self._latest, self._stored)
        margin = int(_MARGIN_SECONDS * 1000) << 22
        await self._look_up(private, max(self._stored - margin, oldest, self._first - 1))

    async def _look_up(self, private: list[str], after: int) -> None:
        chats: dict[str, ChannelPlace | None] = dict.fromkeys(private)
        for address in await self._intake.chats():
            place = await self._places.at(address) if address.thread_id else None
            chats.setdefault(address.thread_id or address.chat_id, place)
        for chat in chats:
            self._held.setdefault(chat, [])
        if not self._held:
            self._looking = None
            return
        self._looking = self._tasks.create_task(self._catch_up(chats, after))

    async def _catch_up(self, chats: dict[str, ChannelPlace | None], after: int) -> None:
        try:
            async with asyncio.timeout(_GUILDS_SECONDS):
                await self._guilds_received.wait()
        except TimeoutError:
            logger.warning("{}: Discord did not tell of every server in time", self._name)
        try:
            latest = 0
            for chat in list(self._held):
                messages = await self._history.since(chat, after)
                latest = max([latest, *(message.number for message in messages)])
                place = chats.get(chat)
                if place is None:
                    place = await self._places.of(chat) if messages else ChannelPlace()
                await self._admit_history(chat, messages, place)
        except (Refusal, DeliveryError) as error:
            raise receiving_error(self._name, error) from error
        self._looking = None
        self._latest = max(self._latest, latest)
        await self._intake.admit([], self._cursor(self._latest))

    def _cursor(self, latest: int) -> str:
        return str(Cursor(latest, self._first))

    async def _admit_history(self, chat: str, history: list[Message], place: ChannelPlace) -> None:
        messages = [
            inbound for message in history for inbound in self._inbound_versions(message, place)
        ]
        await self._admit(messages)
        # While that was being stored, more may have come: it is next.
        while self._held.get(chat):
            waiting = list(self._held[chat])
            await self._admit(waiting)
            del self._held[chat][: len(waiting)]
        self._held.pop(chat, None)

    def _inbound_versions(self, message: Message, place: ChannelPlace) -> list[InboundMessage]:
        versions = [self._inbound(message, place)]
        if message.edited_timestamp and message.number <= self._stored:
            versions.append(self._inbound(message, place, edited=True))
        return [version for version in versions if version is not None]

    async def _message(self, data: Any, *, edited: bool) -> None:
        if edited and isinstance(data, dict) and "author" not in data:
            return
        message = parse(data)
        me = self._places.me
        if me is not None and message.author.id == me.id:
            self.sent.record(message)
        place = await self._place_of(message)
        inbound = self._inbound(message, place, edited=edited)
        if inbound is not None and message.channel_id in self._held:
            self._held[message.channel_id].append(inbound)
        elif inbound is not None:
            await self._admit([inbound], 0 if edited else message.number)
        if not edited:
            self._latest = max(self._latest, message.number)

    async def _place_of(self, message: Message) -> ChannelPlace:
        if message.guild_id:
            return await self._places.of(message.channel_id, message.guild_id)
        return self._places.direct(message.channel_id)

    def _inbound(
        self, message: Message, place: ChannelPlace, *, edited: bool = False
    ) -> InboundMessage | None:
        me = self._places.me or BotUser("")
        self._notice_missing_content(message, place)
        return to_inbound(message, place, self._name, me, edited=edited)

    def _notice_missing_content(self, message: Message, place: ChannelPlace) -> None:
        if self._warned or not self._limits.content or not place.guild or not message.bare:
            return
        if message.author.bot or message.webhook_id or message.edited_timestamp:
            return
        self._warned = True
        logger.warning(
            "{}: Discord withholds what is said (message {}): on "
            "discord.com/developers/applications choose your application, Bot, and switch on "
            "Message Content Intent",
            self._name,
            message.id,
        )

    async def _interaction(self, interaction: Interaction) -> None:
        place = interaction.place
        if interaction.channel is None and is_snowflake(interaction.channel_id):
            place = await self._places.of(interaction.channel_id, interaction.guild_id or "")
        message = interaction_message(interaction, place, self._name)
        if message is None:
            return
        self._commands.used(interaction)
        await self._admit([message])
        self._tasks.create_task(self._acknowledge(interaction))

    async def _reaction(self, reaction: Reaction) -> None:
        """Discord has no history of them, and the same one may be put again: each is admitted."""
        me = self._places.me
        if me is None or not reaction.is_for(me):
            return
        if reaction.guild_id:
            place = await self._places.of(reaction.channel_id, reaction.guild_id)
        else:
            place = self._places.direct(reaction.channel_id)
        message = reaction_message(reaction, place, self._name, self._clock.now())
        if message is not None:
            await self._intake.admit([message])

    async def reactions(self, address: Address, message_id: str) -> list[InboundMessage]:
        """Who reacted to a message of the bot's; see ports.Recalling. Raises Refusal, BadEvent and
        as `request`."""
        channel, number = target(address), snowflake(message_id)
        place, messages = await self._places.at(address), []
        for emoji in emoji_of(await self._http.get_message(channel, number)):
            users = await self._http.get_reaction_users(channel, number, emoji, _MOST_REACTING)
            for reaction in reactions_by(users, emoji, address, message_id):
                message = reaction_message(reaction, place, self._name, self._clock.now())
                if message is not None:
                    messages.append(msgspec.structs.replace(message, address=address))
        return messages

    async def _acknowledge(self, interaction: Interaction) -> None:
        """Tell the client that it arrived. The message is committed already, so a failure is only
        logged."""
        try:
            await self._http.answer_interaction(
                interaction.id, interaction.token, acknowledgement(interaction)
            )
        except (Refusal, DeliveryError) as error:
            logger.info("{}: interaction {}: {}", self._name, interaction.id, error)
            self._commands.acknowledged(interaction, well=False)
        else:
            self._commands.acknowledged(interaction, well=True)

    async def _admit(self, messages: list[InboundMessage], number: int = 0) -> None:
        new = [message for message in messages if self._key(message) not in self._recent]
        if not new:
            return
        # Only what is admitted with it or was before may lie below the cursor.
        following = max(self._latest, number)
        cursor = self._cursor(following) if self._looking is None and following else None
        await self._intake.admit(new, cursor)
        self._recent.update(dict.fromkeys(map(self._key, new)))

    def _key(self, message: InboundMessage) -> str:
        return f"{message.address} {message.dedupe_key}"


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """The failure that ended the run; the others followed from it."""
    failure = group.exceptions[0]
    return _first(failure) if isinstance(failure, ExceptionGroup) else failure
