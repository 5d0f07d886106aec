"""Admits one bot's messages to one intake: live ones and missed ones, in order, once each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

import msgspec
from loguru import logger

from nanobot.errors import ChannelDown, StoreError
from nanobot.messages import Address, InboundMessage
from nanobot.ports import Intake, Missed
from nanobot.system import Backoff
from nanobot_channels.common.shapes import BadEvent, string, table
from nanobot_channels.slack.api import ApiRefusal, NoAnswer, WebApi, is_passing
from nanobot_channels.slack.assistant import Assistant
from nanobot_channels.slack.backfill import (
    SECOND,
    Bounds,
    History,
    HistoryResult,
    cursor_of,
    places,
    position,
    positions_of,
    timestamp,
)
from nanobot_channels.slack.events import (
    BotUser,
    button_press,
    command_message,
    deleted,
    inbound,
    is_ts,
    order,
    stop_button,
    user_message,
)
from nanobot_channels.slack.lookups import People, Threads, Writers
from nanobot_channels.slack.reactions import reaction_message, standing_reactions
from nanobot_channels.slack.socket import SHARED_SECONDS

PROMPTS = (
    "What can you do?",
    "Remind me tomorrow at nine to ",
    "Sum up what this page says: ",
    "What do you remember about me?",
)
_TRIES = 5
_MOST_REACTING = 100
_BACKOFF = Backoff(1.0, 16.0)
_NOT_KEPT = (
    "I could not save this, because the disk is full or the database is down. Try again later."
)
_MESSAGES = {"message", "app_mention"}

_Arrived: TypeAlias = tuple[dict[str, Any], str, asyncio.Future[None]]


class Policy(msgspec.Struct, frozen=True):
    """Settings: when an answer opens a thread ("auto": in channels, "always", "never"), the slash
    command, the extent of a back-fill, whether links get previews, the suggestions in the
    assistant's pane, and whether answers have thumbs for a verdict.
    """

    threads: str = "auto"
    slash_command: str = ""
    bounds: Bounds = Bounds()
    link_previews: bool = False
    prompts: tuple[str, ...] = PROMPTS
    feedback: bool = True


class Receiver:
    """Receives envelopes, and looks up missed messages. It is the only source of an intake."""

    per_second = SECOND

    def __init__(
        self,
        name: str,
        api: WebApi,
        intake: Intake,
        me: BotUser,
        policy: Policy,
        assistant: Assistant,
    ) -> None:
        self.threads = Threads(api)
        self.writers = Writers()
        self._assistant = assistant
        self.skipped = 0
        """Unreadable envelopes and messages."""
        self._name = name
        self._intake = intake
        self._me = me
        self._policy = policy
        self._api = api
        self._clock = api.clock
        self._people = People(api)
        self._history = History(api, name, policy.bounds)
        self._arrived: asyncio.Queue[_Arrived] = asyncio.Queue()
        self.is_shared: Callable[[], bool] = lambda: False
        """Whether messages may arrive out of order."""
        self._time = api.time
        self._ordered = intake.in_order(self)

    async def load(self) -> None:
        """Read from the intake where the last process stopped; at the very first start, store the
        current time.
        """
        await self._ordered.begin()
        self.threads.remember(await self._intake.chats())

    async def take(self, body: dict[str, Any], envelope_id: str) -> None:
        """Returns once the content of an envelope is committed, or known to be irrelevant."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrived.put_nowait((body, envelope_id, done))
        await done

    async def look_back(self) -> None:
        """Events may have been lost: from now on every known place has a pending back-fill."""
        await self._ordered.look_back(places(await self._intake.chats()))

    async def live(self) -> None:
        """Admit what arrives. Raises what the intake raises; then nothing is acknowledged."""
        while True:
            for body, envelope_id, done in await self._next():
                await self._take(body, envelope_id, done)

    async def _next(self) -> list[_Arrived]:
        """The arrived items: one, or all of a moment in the order in which they were sent."""
        arrived = [await self._arrived.get()]
        if self.is_shared():
            await self._clock.sleep(SHARED_SECONDS)
            while not self._arrived.empty():
                arrived.append(self._arrived.get_nowait())
        return _in_order(arrived)

    async def _take(
        self, body: dict[str, Any], envelope_id: str, done: asyncio.Future[None]
    ) -> None:
        message = await self._read(self._live(body), f"envelope {envelope_id}")
        if message is None:
            _finish(done)
        else:
            try:
                await self._ordered.take(message, _position(message), partial(_finish, done))
            except StoreError:
                await self._tell_of_press(message)
                raise

    async def _tell_of_press(self, message: InboundMessage) -> None:
        """Slack does not deliver a press or a command again: people have to repeat lost ones."""
        if not message.pressed and is_ts(message.message_id):
            return
        chat = message.address
        place = {"channel": chat.chat_id, "thread_ts": chat.thread_id, "user": message.sender.id}
        with suppress(ApiRefusal, NoAnswer):
            await self._api.call("chat.postEphemeral", place | {"text": _NOT_KEPT})

    async def backfill(self) -> None:
        """Look up missed messages until cancelled. Raises what the intake raises, and ChannelDown
        if Slack does not answer.
        """
        await self._ordered.run()

    # Missed messages; see ports.History

    @property
    def hours(self) -> float:
        return self._policy.bounds.hours

    async def now(self) -> int:
        return int(self._time.now()) * SECOND

    def cursor(self, latest: int, first: int) -> str:
        return cursor_of(latest, first)

    def positions(self, cursor: str) -> tuple[int, int] | None:
        return positions_of(cursor)

    async def missed(self, place: Address, since: int) -> Missed:
        """See ports.History."""
        chat = place.chat_id
        try:
            result = await self._look_up(place, timestamp(since))
        except ApiRefusal as error:
            logger.warning("{}: cannot read the missed messages of {}: {}", self._name, chat, error)
            return Missed()
        messages = []
        for raw in result.messages:
            message = await self._read(self._inbound(raw, chat), f"a message of {chat}")
            if message is not None:
                messages.append(message)
        latest = max(map(_position, messages), default=0)
        return Missed(messages=messages, latest=latest, places=result.threads)

    async def _look_up(self, place: Address, oldest: str) -> HistoryResult:
        """The messages since then. Retries as long as Slack says when to retry, otherwise five
        times. Raises ApiRefusal, and ChannelDown if Slack does not answer.
        """
        failures = 0
        while True:
            try:
                return await self._history.after(place, oldest)
            except ApiRefusal as error:
                if not is_passing(error):
                    raise
                wait, reason = error.retry_after, str(error)
            except NoAnswer as error:
                wait, reason = None, str(error)
            if wait is None:
                failures += 1
                wait = _BACKOFF.delay(failures)
            if failures == _TRIES:
                raise ChannelDown(f"cannot read the missed messages: {reason}")
            await self._clock.sleep(wait)

    async def _read(
        self, conversion: Awaitable[InboundMessage | None], what: str
    ) -> InboundMessage | None:
        try:
            return await conversion
        except BadEvent as error:
            self.skipped += 1
            logger.warning("{}: {} skipped ({} so far): {}", self._name, what, self.skipped, error)
            return None

    async def _live(self, body: dict[str, Any]) -> InboundMessage | None:
        event = body.get("event")
        if isinstance(event, dict):
            return await self._event(event)
        if body.get("type") == "block_actions":
            message = button_press(body, self._name)
            return message and await self._with_names(message)
        if "command" in body:
            if body["command"] != self._policy.slash_command:
                logger.warning(
                    "{}: the command {} is not channels.{}.slash_command; skipped",
                    self._name,
                    body["command"],
                    self._name,
                )
                return None
            return await self._with_names(command_message(body, self._name, self._time.now()))
        if isinstance(body.get("type"), str) and body["type"] != "event_callback":
            return None
        raise BadEvent("neither an event, a press nor a command")

    async def _event(self, event: dict[str, Any]) -> InboundMessage | None:
        kind = string(event.get("type"))
        if kind in _MESSAGES:
            return deleted(event, self._name) or await self._inbound(event)
        if kind == "reaction_added":
            message = reaction_message(event, self._me, self._name)
            return message and await self._with_names(message)
        if kind == "channel_id_changed":
            await self._moved(event)
            return None
        if kind == "agent_session_stopped":
            return await self._with_names(stop_button(event, self._name))
        self._assistant.event(event)
        return None

    async def _moved(self, event: dict[str, Any]) -> None:
        """A channel that is shared with another workspace may get a new id."""
        old, new = string(event.get("old_channel_id")), string(event.get("new_channel_id"))
        if old and new and old != new:
            await self._intake.moved(old, new)

    async def reactions(self, address: Address, ts: str) -> list[InboundMessage]:
        """The people who reacted to a message of the bot; see ports.Recalling. Raises ApiRefusal,
        NoAnswer and BadEvent.
        """
        if not is_ts(ts):
            return []
        params = {"channel": address.chat_id, "timestamp": ts, "full": True}
        answer = await self._api.call("reactions.get", params, form=True)
        place = (address.chat_id, ts)
        messages = standing_reactions(answer.get("message"), place, self._me, self._name)
        return [await self._with_names(message) for message in messages[:_MOST_REACTING]]

    async def _inbound(self, event: object, chat: str = "") -> InboundMessage | None:
        item = user_message(event, self._me, chat)
        if item is None:
            return None
        first = item.thread is not None and not self.threads.knows(item.chat, item.thread)
        thread = await self.threads.around(item, self._me)
        people = item.people()
        names = await self._people.names(people - {self._me.user_id})
        policy = self._policy.threads
        opens = policy == "always" or (policy == "auto" and not item.is_direct)
        message = inbound(item, self._name, self._me, names, thread, opens=opens)
        if message is not None:
            # One from another workspace, in a shared channel.
            team = string(item.message.team) or self._me.team_id
            self.writers.wrote(item.chat, message.message_id, message.sender.id, team)
            if first:
                self._assistant.began(message)
            return self._with_language(message)
        return None

    async def _with_names(self, message: InboundMessage) -> InboundMessage:
        sender = message.sender
        name = (await self._people.names([sender.id])).get(sender.id, sender.name)
        chat = message.address.chat_id
        self.writers.wrote(chat, message.message_id, sender.id, self._me.team_id)
        named = msgspec.structs.replace(sender, name=name)
        return self._with_language(msgspec.structs.replace(message, sender=named))

    def _with_language(self, message: InboundMessage) -> InboundMessage:
        language = self._people.language(message.sender.id)
        return msgspec.structs.replace(message, language=language) if language else message


def _position(message: InboundMessage) -> int:
    """Presses and reactions have none."""
    ts = message.message_id
    return 0 if message.pressed or message.reaction or not is_ts(ts) else position(ts)


def _said_at(body: dict[str, Any]) -> tuple[int, ...]:
    """The position of a message among others; empty if it has none."""
    ts = string(table(body.get("event")).get("ts"))
    return order(ts) if is_ts(ts) else ()


def _in_order(arrived: list[_Arrived]) -> list[_Arrived]:
    """In the order of sending. A press has no time: it stays after the item that it followed."""
    placed: list[tuple[tuple[int, ...], _Arrived]] = []
    for item in arrived:
        before = placed[-1][0] if placed else ()
        placed.append((_said_at(item[0]) or before, item))
    return [item for _, item in sorted(placed, key=itemgetter(0))]


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
