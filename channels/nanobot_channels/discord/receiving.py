"""From the gateway's events to the intake: in order, once each, and without loss in a crash."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Any, Protocol

import msgspec
from loguru import logger

from nanobot.errors import ChannelDown, DeliveryError, StoreError
from nanobot.messages import Address, InboundMessage, deletion
from nanobot.ports import Clock, Intake, Missed
from nanobot_channels.common.shapes import BadEvent, shaped, table
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
    EPOCH,
    BotUser,
    ChannelPlace,
    Deleted,
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
"""The most people per emoji: the result of one call."""
MOST_WAITING = 10_000
"""The most events in memory; with more, the connection is dropped and the events are looked up
later.
"""

_GUILDS_SECONDS = 5.0


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How far to look back in a chat. `content`: the message content intent is requested."""

    messages: int = 100
    hours: float = 24.0
    content: bool = True


class Commands(Protocol):
    """A listener for interactions."""

    def used(self, interaction: Interaction) -> None:
        """One has arrived, and has no answer yet."""

    def acknowledged(self, interaction: Interaction, *, well: bool) -> None:
        """Its first answer was accepted, or could not be given."""


class Receiver:
    """One run of one bot: events on their way to one intake. Presses and commands, which no history
    contains, do not wait for look-ups.
    """

    per_second = snowflake_at(EPOCH + 1)

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
        self._ordered = intake.in_order(self)
        self._guilds: set[str] = set()
        self._guilds_received = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                tasks.create_task(self._gateway.listen(self._take, intake.alive))
                tasks.create_task(self._work())
                tasks.create_task(self._ordered.run())
        except ExceptionGroup as group:
            raise _first(group) from group
        finally:
            if self._events or not self._ordered.settled:
                # Discord would not resend events that were received but not admitted: begin a new
                # session, and look them up.
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
                # An event leaves the queue after it has been processed: see `run`.
                event, data = self._events[0]
                try:
                    await self._handle(event, data)
                except BadEvent as error:
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
        """Presses and commands are not in the history: people have to repeat those that
        were lost.
        """
        for event, data in list(self._events):
            if event == "INTERACTION_CREATE":
                with suppress(BadEvent, Refusal, DeliveryError):
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
            case "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK":
                await self._deleted(shaped(data, Deleted))
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
        except BadEvent as error:
            # Without it no look-up would happen, and no mention would be recognised.
            raise ChannelDown(f"Discord does not tell who the bot is: {error}") from error
        self._guilds_received.clear()
        if not self._guilds:
            self._guilds_received.set()
        await self._intake.account((self._places.me or BotUser("")).id)
        if await self._ordered.begin():
            alone = [Address(self._name, chat) for chat in private]
            await self._ordered.look_back([*alone, *await self._intake.chats()])

    # Missed messages; see ports.History

    @property
    def hours(self) -> float:
        """How far to look back."""
        return self._limits.hours

    async def now(self) -> int:
        return snowflake_at(await self._http.now())

    def cursor(self, latest: int, first: int) -> str:
        return f"{latest}:{first}"

    def positions(self, cursor: str) -> tuple[int, int] | None:
        latest, _, first = cursor.partition(":")
        if not is_snowflake(latest) or not is_snowflake(first or "0"):
            return None
        return int(latest), int(first or "0")

    async def missed(self, place: Address, since: int) -> Missed:
        """See ports.History. Raises BadCredentials or ChannelDown."""
        await self._all_guilds()
        chat = place.thread_id or place.chat_id
        if not is_snowflake(chat):
            return Missed()
        try:
            messages = await self._history.since(chat, since)
            around = await self._places.at(place) if messages else ChannelPlace()
        except (Refusal, DeliveryError) as error:
            raise receiving_error(self._name, error) from error
        return Missed(
            messages=[
                inbound
                for message in messages
                for inbound in self._inbound_versions(message, around)
            ],
            latest=max((message.number for message in messages), default=0),
        )

    async def _all_guilds(self) -> None:
        try:
            async with asyncio.timeout(_GUILDS_SECONDS):
                await self._guilds_received.wait()
        except TimeoutError:
            logger.warning("{}: Discord did not tell of every server in time", self._name)
            self._guilds_received.set()

    def _inbound_versions(self, message: Message, place: ChannelPlace) -> list[InboundMessage]:
        versions = [self._inbound(message, place)]
        if message.edited_timestamp and message.number <= self._ordered.kept:
            versions.append(self._inbound(message, place, edited=True))
        return [version for version in versions if version is not None]

    async def _message(self, data: Any, *, edited: bool) -> None:
        if edited and isinstance(data, dict) and "author" not in data:
            return
        message = parse(data)
        me = self._places.me
        if me is not None and message.author.id == me.id:
            self.sent.record(message)
        place = await self._place_of(message.channel_id, message.guild_id)
        inbound = self._inbound(message, place, edited=edited)
        if inbound is not None:
            await self._ordered.take(inbound, 0 if edited else message.number)
        elif not edited:
            self._ordered.passed(message.number)

    async def _deleted(self, deleted: Deleted) -> None:
        place = await self._place_of(deleted.channel_id, deleted.guild_id)
        address = place.address(self._name, deleted.channel_id)
        for number in (deleted.id, *deleted.ids):
            if number:
                await self._ordered.take(deletion(address, number))

    async def _place_of(self, channel_id: str, guild_id: str | None) -> ChannelPlace:
        if guild_id:
            return await self._places.of(channel_id, guild_id)
        return self._places.direct(channel_id)

    def _inbound(
        self, message: Message, place: ChannelPlace, *, edited: bool = False
    ) -> InboundMessage | None:
        me = self._places.me or BotUser("")
        self._notice_missing_content(message, place)
        inbound = to_inbound(message, place, self._name, me, edited=edited)
        language = self._places.language(place)
        if inbound is None or not language:
            return inbound
        return msgspec.structs.replace(inbound, language=language)

    def _notice_missing_content(self, message: Message, place: ChannelPlace) -> None:
        if self._warned or not self._limits.content or not place.guild or not message.bare:
            return
        if message.author.bot or message.webhook_id or message.edited_timestamp:
            return
        self._warned = True
        logger.warning(
            "{}: Discord withholds the text of message {}: on "
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
        await self._ordered.admit(message)
        self._tasks.create_task(self._acknowledge(interaction))

    async def _reaction(self, reaction: Reaction) -> None:
        """They are not in Discord's history, and the same one may be added again: each is
        admitted.
        """
        me = self._places.me
        if me is None or not reaction.is_for(me):
            return
        place = await self._place_of(reaction.channel_id, reaction.guild_id)
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
        """Acknowledge it to the client. The message is committed already, so a failure is only
        logged.
        """
        try:
            await self._http.answer_interaction(
                interaction.id, interaction.token, acknowledgement(interaction)
            )
        except (Refusal, DeliveryError) as error:
            logger.info("{}: interaction {}: {}", self._name, interaction.id, error)
            self._commands.acknowledged(interaction, well=False)
        else:
            self._commands.acknowledged(interaction, well=True)


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """The failure that ended the run; the others are its consequences."""
    failure = group.exceptions[0]
    return _first(failure) if isinstance(failure, ExceptionGroup) else failure
