"""The bot's rooms: their members, and their latest messages."""

from __future__ import annotations

from typing import Any

import msgspec

from nanobot_channels.common.recent import Recent
from nanobot_channels.common.shapes import BadEvent, listed, string, table
from nanobot_channels.common.text import label
from nanobot_channels.matrix.api import Api, ApiRefusal, Request, path
from nanobot_channels.matrix.events import (
    BotUser,
    Event,
    MessageContent,
    convert,
    means,
    message_content,
)

_EVENTS = 2_000
"""Events whose sender and text are remembered, in all rooms together."""
_QUOTE = 2_000  # characters that are kept of one

Json = dict[str, Any]


class KnownEvent(msgspec.Struct, frozen=True):
    """An event that others refer to. `meant`: it mentions the bot."""

    sender: str = ""
    text: str = ""
    thread: str = ""
    reply_to: str = ""
    meant: bool = False


class Room(msgspec.Struct):
    """A room's joined members, with their display names there."""

    members: dict[str, str]

    def apply(self, event: Event) -> None:
        """Apply an m.room.member event."""
        who = event.state_key or ""
        if event.content.get("membership") == "join":
            self.members[who] = _name(event.content.get("displayname"))
        else:
            self.members.pop(who, None)


class Rooms:
    """Rooms are requested once, and follow the events of /sync afterwards."""

    def __init__(self, api: Api, user_id: str) -> None:
        self._api = api
        self._user_id = user_id
        self._rooms: dict[str, Room] = {}
        self._direct: frozenset[str] = frozenset()
        self._events: Recent[tuple[str, str], KnownEvent] = Recent(_EVENTS)

    async def load(self) -> None:
        """Load the account's list of direct rooms. Raises ApiRefusal or NoAnswer."""
        kind = path("user", self._user_id, "account_data", "m.direct")
        try:
            self.direct(await self._api.call("m.direct", ("GET", kind)))
        except ApiRefusal as error:
            if error.passing or error.status != 404:
                raise

    def direct(self, content: Json) -> None:
        """Replace the list of direct rooms by the content of m.direct."""
        rooms = (room for some in content.values() for room in listed(some))
        self._direct = frozenset(room for room in rooms if isinstance(room, str))

    def is_direct(self, room_id: str, room: Room) -> bool:
        """Whether messages address the bot without naming it."""
        return len(room.members) <= 2 or room_id in self._direct

    def is_known_direct(self, room_id: str) -> bool:
        """Like `is_direct`, for a room already loaded; False for any other."""
        room = self._rooms.get(room_id)
        return room is not None and self.is_direct(room_id, room)

    async def room(self, room_id: str) -> Room:
        """A room's members. An unreadable room counts as a group.

        Raises ApiRefusal for temporary errors, and NoAnswer.
        """
        existing = self._rooms.get(room_id)
        if existing is not None:
            return existing
        request: Request = ("GET", path("rooms", room_id, "joined_members"))
        try:
            answer = await self._api.call("joined_members", request)
        except ApiRefusal as error:
            if error.passing:
                raise
            return Room({"": "", " ": "", self._user_id: ""})
        people = table(answer.get("joined"))
        names = {who: _name(table(profile).get("display_name")) for who, profile in people.items()}
        room = Room(names)
        self._rooms[room_id] = room
        return room

    def moved(self, room_id: str, event: Event) -> None:
        """Apply a change of membership to a room already loaded."""
        room = self._rooms.get(room_id)
        if room is not None:
            room.apply(event)

    def forget(self, room_id: str) -> None:
        """Drop a room that the bot left, or whose members may have changed unnoticed."""
        self._rooms.pop(room_id, None)

    def me(self, room: Room) -> BotUser:
        """The bot with its name in a room."""
        return BotUser(self._user_id, room.members.get(self._user_id, ""))

    def keep(self, room_id: str, event_id: str, event: KnownEvent) -> None:
        """Remember an event that others may refer to."""
        self._events[room_id, event_id] = event

    def redacted(self, room_id: str, event_id: str) -> None:
        """Forget the text of an event that was deleted."""
        known = self._events.get((room_id, event_id))
        if known is not None:
            self.keep(room_id, event_id, msgspec.structs.replace(known, text=""))

    async def event(self, room_id: str, event_id: str) -> KnownEvent:
        """An event that another refers to; an empty one if it is not available.

        Raises ApiRefusal for temporary errors, and NoAnswer.
        """
        existing = self._events.get((room_id, event_id))
        if existing is not None:
            return existing
        request: Request = ("GET", path("rooms", room_id, "event", event_id))
        summary = KnownEvent()
        try:
            event = convert(await self._api.call("event", request))
            it = message_content(event)
            summary = KnownEvent(sender=event.sender)
            if it is not None:
                summary = known_event(event, it, self.me(await self.room(room_id)))
        except ApiRefusal as error:
            if error.passing:
                raise
        except BadEvent:
            pass  # it is not quoted, like one that no longer exists
        self.keep(room_id, event_id, summary)
        return summary


def known_event(event: Event, it: MessageContent, me: BotUser) -> KnownEvent:
    """The remembered data of a message. Without a text, its files are named."""
    text = it.text or ", ".join(f"[{file.kind} {file.name}]" for file in it.attachments)
    return KnownEvent(event.sender, text[:_QUOTE], it.thread, it.reply_to, means(it, me))


def _name(value: object) -> str:
    return label(string(value))
