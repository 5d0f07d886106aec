"""Admits the messages of one account's rooms to one intake: those of /sync, and those in
its gaps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
from loguru import logger

from nanobot.errors import ChannelDown
from nanobot.messages import Address, InboundMessage, Sender, deletion
from nanobot.ports import Clock, Intake
from nanobot_channels.common.shapes import BadEvent, listed, string, table
from nanobot_channels.matrix.access import RoomAccess
from nanobot_channels.matrix.api import FAILED, Api, ApiRefusal, receiving_error
from nanobot_channels.matrix.events import (
    Event,
    MessageContent,
    convert,
    means,
    message_content,
    reaction,
    redacted,
    without_name,
)
from nanobot_channels.matrix.rooms import KnownEvent, Room, Rooms, known_event
from nanobot_channels.matrix.sync import (
    HELD_SECONDS,
    Answer,
    Cursor,
    Joined,
    decode,
    encode,
    messages,
    sync,
)

_SAVED_EVERY = 60.0
"""Seconds after which the cursor is stored even without new messages."""
_MOST_TOLD = 500
_MOST_UPGRADED = 20
_SKEW_MS = 300_000.0
"""Clocks of homeservers differ by less. If the position is lost, events from this long before the
last one are read again; their ids identify those that were admitted.
"""

Json = dict[str, Any]


class Receiver:
    """Polls /sync. The cursor is committed together with the messages it brought."""

    def __init__(
        self, name: str, api: Api, intake: Intake, access: RoomAccess, clock: Clock, backfill: int
    ) -> None:
        self.skipped = 0
        """Unreadable events."""
        self.threads: set[tuple[str, str]] = set()
        """Room and root of threads in which the bot has written, or was addressed."""
        self._name = name
        self._api = api
        self._intake = intake
        self._access = access
        self._clock = clock
        self._backfill = backfill
        self._rooms = Rooms(api, access.user_id)
        self._cursor = Cursor(user=access.user_id, since="")
        self._saved = 0.0

    async def run(self) -> None:
        """Receive until cancelled. Raises BadCredentials, ChannelDown, and what the intake does."""
        try:
            await self._load()
            seconds = 0
            while True:
                await self._take(await self._poll(seconds))
                self._intake.alive()
                seconds = HELD_SECONDS
        except FAILED as error:
            raise receiving_error(self._name, error, self._api.account) from error
        except msgspec.ValidationError as error:
            raise ChannelDown(f"Matrix, sync: the answer is none: {error}") from error

    def is_direct(self, room_id: str) -> bool:
        """Whether the bot is known to be alone with one person there."""
        return self._rooms.is_known_direct(room_id)

    async def _load(self) -> None:
        await self._intake.account(self._cursor.user)
        await self._rooms.load()
        for place in await self._intake.chats():
            if place.thread_id:
                self.threads.add((place.chat_id, place.thread_id))
        stored = await self._intake.cursor()
        cursor = decode(stored)
        if cursor is not None and cursor.user == self._cursor.user:
            self._cursor = cursor
            return
        if stored:
            logger.warning("{}: the stored cursor is not this account's: begins anew", self._name)
        # Messages from before the bot joined are not addressed to it.
        answer = await sync(self._api, "", 0)
        now = self._api.time.now() * 1000
        self._move(answer, at=now, first=now)
        self._invited(answer)
        self._intake.alive()
        await self._save([])
        await self._open()

    async def _poll(self, seconds: int) -> Answer:
        try:
            return await sync(self._api, self._cursor.since, seconds)
        except ApiRefusal as error:
            if error.passing or error.status != 400:
                raise
            logger.warning(
                "{}: the homeserver no longer knows where we were ({}): of each room the last "
                "messages are looked through",
                self._name,
                error,
            )
        answer = await sync(self._api, "", 0)
        self._move(answer, since="")
        return answer

    async def _take(self, answer: Answer) -> None:
        messages: list[InboundMessage] = []
        at = self._cursor.at
        locked: list[str] = []
        for item in answer.account_data.events:
            if item.get("type") == "m.direct" and isinstance(item.get("content"), dict):
                self._rooms.direct(item["content"])
        for room_id, value in answer.rooms.join.items():
            events = await self._room(room_id, value)
            at = max([at, *(1000 * event.sent_at(0.0) for event in events)])
            messages += await self._inbound(room_id, events)
            if any(event.type == "m.room.encrypted" and self._others(event) for event in events):
                locked.append(room_id)
            for event in events:
                # Without a state key it is no room's state: any member can send such a message.
                if event.type == "m.room.tombstone" and event.state_key == "":
                    self._upgraded(room_id, event)
        for room_id in answer.rooms.leave:
            self._rooms.forget(room_id)
        self._invited(answer)
        await self._follow()
        # The sender's clock may be ahead.
        self._move(answer, at=min(at, self._api.time.now() * 1000))
        due = self._clock.monotonic() - self._saved >= _SAVED_EVERY
        if messages or answer.rooms.invite or self._cursor.upgraded or due:
            await self._save(messages)
        await self._afterwards(messages, locked)

    async def _afterwards(self, messages: Sequence[InboundMessage], locked: Sequence[str]) -> None:
        """After the commit: read receipts, joins, and notices in encrypted rooms."""
        last = {
            message.address: message.dedupe_key
            for message in messages
            if message.addressed and not (message.reaction or message.deleted)
        }
        for place, event_id in last.items():
            await self._access.read(place.chat_id, place.thread_id or "", event_id)
        await self._open()
        for room_id in locked:
            if room_id not in self._cursor.told and await self._access.cannot_read(room_id):
                reported = (*self._cursor.told, room_id)[-_MOST_TOLD:]
                self._cursor = msgspec.structs.replace(self._cursor, told=reported)
                await self._save([])

    def _invited(self, answer: Answer) -> None:
        accepted = [
            room_id
            for room_id, value in answer.rooms.invite.items()
            if self._access.welcomes(room_id, value)
        ]
        invited = tuple(dict.fromkeys([*self._cursor.invited, *accepted]))
        replacing = {new for _, new, _ in self._cursor.upgraded}
        kept = {*accepted, *replacing}
        declined = [room_id for room_id in answer.rooms.invite if room_id not in kept]
        self._access.declined += declined
        self._cursor = msgspec.structs.replace(self._cursor, invited=invited)

    def _upgraded(self, room_id: str, event: Event) -> None:
        new, via = string(event.content.get("replacement_room")), event.sender.partition(":")[2]
        if new:
            known = tuple(dict.fromkeys([*self._cursor.upgraded, (room_id, new, via)]))
            self._cursor = msgspec.structs.replace(self._cursor, upgraded=known[-_MOST_UPGRADED:])

    async def _follow(self) -> None:
        """Join rooms that replace others, before what was said there is admitted; those that cannot
        be joined for now stay in the cursor."""
        left = []
        for old, new, via in self._cursor.upgraded:
            follows = await self._access.follow(old, new, via)
            if follows is None:
                left.append((old, new, via))
            elif follows:
                await self._intake.moved(old, new)
        self._cursor = msgspec.structs.replace(self._cursor, upgraded=tuple(left))

    async def _open(self) -> None:
        """Join rooms that the bot is invited to; joins that fail for now stay in the cursor."""
        left = [room_id for room_id in self._cursor.invited if not await self._access.join(room_id)]
        await self._access.decline()
        if len(left) != len(self._cursor.invited):
            self._cursor = msgspec.structs.replace(self._cursor, invited=tuple(left))

    def _move(self, answer: Answer, **more: Any) -> None:
        changes = {"since": answer.next_batch, **more}
        self._cursor = msgspec.structs.replace(self._cursor, **changes)

    async def _save(self, messages: list[InboundMessage]) -> None:
        await self._intake.admit(messages, encode(self._cursor))
        self._saved = self._clock.monotonic()

    # One room.

    async def _room(self, room_id: str, value: object) -> list[Event]:
        """A room's events since the cursor, oldest first."""
        try:
            room = msgspec.convert(value, Joined)
        except msgspec.ValidationError as error:
            self._skip(room_id, error)
            return []
        state = self._events(room_id, room.state.events)
        events = self._events(room_id, room.timeline.events)
        arrived = any(map(self._arrives, [*state, *events]))
        if room.timeline.limited and room.timeline.prev_batch and all(map(self._is_new, events)):
            end = "" if arrived else self._cursor.since
            events = [*await self._before(room_id, room.timeline.prev_batch, end), *events]
        for event in [*state, *events]:
            if event.type == "m.room.member":
                self._rooms.moved(room_id, event)
        if not self._cursor.since:
            return [event for event in events if self._is_new(event)]
        return self._since_invited(events) if arrived else events

    def _is_new(self, event: Event) -> bool:
        """Whether an event may be new, if only its time can decide."""
        begin = max(self._cursor.at - _SKEW_MS, self._cursor.first)
        return bool(self._cursor.since) or 1000 * event.sent_at(math.inf) > begin

    async def _before(self, room_id: str, start: str, end: str) -> list[Event]:
        """The events before those of /sync, back to the cursor or the invitation; oldest first."""
        events: list[Event] = []
        while start and len(events) < self._backfill:
            answer = await self._api.call("messages", messages(room_id, start, end))
            self._intake.alive()
            page = self._events(room_id, listed(answer.get("chunk")))
            events += page
            following = string(answer.get("end"))
            start = following if page and following != start else ""
            if (not end and any(map(self._invites, page))) or not all(map(self._is_new, page)):
                break
        if start and len(events) >= self._backfill:
            logger.warning(
                "{}: {} has more missed messages than channels.{}.backfill_messages; the oldest "
                "are skipped",
                self._name,
                room_id,
                self._name,
            )
        return events[: self._backfill][::-1]

    def _since_invited(self, events: list[Event]) -> list[Event]:
        """The events since the invitation: people may write before the bot has joined."""
        for marks in (self._invites, self._arrives):
            for at in range(len(events) - 1, -1, -1):
                if marks(events[at]):
                    return events[at:]
        return events

    def _invites(self, event: Event) -> bool:
        return self._is_mine(event) and event.content.get("membership") == "invite"

    def _arrives(self, event: Event) -> bool:
        if not self._is_mine(event) or event.content.get("membership") != "join":
            return False
        return table(event.unsigned.get("prev_content")).get("membership") != "join"

    def _is_mine(self, event: Event) -> bool:
        return event.type == "m.room.member" and event.state_key == self._cursor.user

    def _others(self, event: Event) -> bool:
        return event.sender != self._cursor.user

    def _events(self, room_id: str, raw: Sequence[object]) -> list[Event]:
        events = []
        for item in raw:
            try:
                events.append(convert(item))
            except BadEvent as error:
                self._skip(room_id, error)
        return events

    async def _inbound(self, room_id: str, events: Sequence[Event]) -> list[InboundMessage]:
        messages = []
        for event in events:
            try:
                it, reacted = message_content(event), reaction(event)
            except BadEvent as error:
                self._skip(room_id, error)
                continue
            if self._others(event) and (target := redacted(event)):
                self._rooms.redacted(room_id, target)
                messages.append(deletion(Address(self._name, room_id), target))
            if reacted is not None and self._others(event):
                messages.append(await self._reaction(room_id, event, *reacted))
            if it is None:
                continue
            room = await self._rooms.room(room_id)
            if not it.edit_of:
                self._rooms.keep(
                    room_id, event.event_id, known_event(event, it, self._rooms.me(room))
                )
            message = await self._message(room_id, room, event, it) if self._others(event) else None
            if message is not None:
                messages.append(message)
        return messages

    async def _message(
        self, room_id: str, room: Room, event: Event, it: MessageContent
    ) -> InboundMessage | None:
        me = self._rooms.me(room)
        original = await self._rooms.event(room_id, it.edit_of) if it.edit_of else KnownEvent()
        if it.edit_of and original.sender != event.sender:
            return None  # people cannot edit other people's messages
        thread, reply_to = it.thread or original.thread, it.reply_to or original.reply_to
        root = await self._rooms.event(room_id, thread) if thread else KnownEvent()
        answered = await self._rooms.event(room_id, reply_to) if reply_to else KnownEvent()
        direct = self._rooms.is_direct(room_id, room)
        joined = (room_id, thread) in self.threads or root.meant
        meant = direct or joined or original.meant or means(it, me)
        meant = meant or me.user_id in {answered.sender, root.sender}
        quote = answered.text or it.quote
        return InboundMessage(
            address=Address(self._name, room_id, thread or None),
            message_id=it.edit_of or event.event_id,
            dedupe_key=event.event_id,
            sender=Sender(event.sender, room.members.get(event.sender, "")),
            text=without_name(it, me),
            sent_at=event.sent_at(self._api.time.now()),
            attachments=it.attachments,
            reply_to=reply_to or None,
            quote=quote,
            edit_of=it.edit_of or None,
            group=not direct,
            addressed=meant,
            tainted=bool(quote) and answered.sender not in {event.sender, me.user_id},
        )

    async def _reaction(
        self, room_id: str, event: Event, target: str, emoji: str
    ) -> InboundMessage:
        room = await self._rooms.room(room_id)
        return InboundMessage(
            address=Address(self._name, room_id),
            message_id=target,
            dedupe_key=event.event_id,
            sender=Sender(event.sender, room.members.get(event.sender, "")),
            text=emoji,
            sent_at=event.sent_at(self._api.time.now()),
            reply_to=target,
            reaction=True,
            group=not self._rooms.is_direct(room_id, room),
        )

    def _skip(self, room_id: str, error: Exception) -> None:
        self.skipped += 1
        logger.warning(
            "{}: an event of {} skipped ({} so far): {}", self._name, room_id, self.skipped, error
        )
