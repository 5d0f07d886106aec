"""Rooms of the Matrix double: events in one stream, and who is where."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]

ME = "@nano:loopback"
ANN = "@ann:loopback"
MAX_EVENT = 65_536
START = 1_700_000_000_000


class Entry(NamedTuple):
    """An event at its place in the stream."""

    at: int
    room: str
    event: Json


class Rooms:
    """What a homeserver knows of its rooms. Times are milliseconds, one a second."""

    def __init__(self) -> None:
        self.stream: list[Entry] = []
        self.names: dict[str, str] = {ME: "Nano", ANN: "Ann"}
        self.direct: dict[str, list[str]] = {}
        self.now = START
        self.changed = asyncio.Event()
        self._ids: Iterator[int] = itertools.count(1)

    def add(
        self, room: str, kind: str, content: Json, *, sender: str, state_key: str | None = None
    ) -> Json:
        """Append an event to a room; returns it."""
        number = next(self._ids)
        self.now += 1000
        event: Json = {
            "type": kind,
            "event_id": f"$event{number}",
            "sender": sender,
            "origin_server_ts": self.now,
            "content": content,
            "unsigned": {},
        }
        if state_key is not None:
            before = self.state(room, kind, state_key)
            event["state_key"] = state_key
            if before is not None:
                event["unsigned"]["prev_content"] = before["content"]
        self.stream.append(Entry(number, room, event))
        self.wake()
        return event

    def wake(self) -> None:
        """Wake every waiting poll."""
        self.changed.set()
        self.changed = asyncio.Event()

    @property
    def position(self) -> int:
        return self.stream[-1].at if self.stream else 0

    def of(self, room: str) -> list[Entry]:
        return [entry for entry in self.stream if entry.room == room]

    def ids(self) -> list[str]:
        return list(dict.fromkeys(entry.room for entry in self.stream))

    def state(self, room: str, kind: str, key: str, at: int | None = None) -> Json | None:
        """The state event in force."""
        for entry in reversed(self.of(room)):
            event = entry.event
            if at is not None and entry.at > at:
                continue
            if event["type"] == kind and event.get("state_key") == key:
                return event
        return None

    def membership(self, room: str, user: str, at: int | None = None) -> str:
        member = self.state(room, "m.room.member", user, at)
        return str(member["content"]["membership"]) if member else "leave"

    def joined(self, room: str) -> list[str]:
        people = {
            entry.event["state_key"]
            for entry in self.of(room)
            if entry.event["type"] == "m.room.member"
        }
        return sorted(user for user in people if self.membership(room, user) == "join")

    def event(self, event_id: str) -> Entry | None:
        return next((entry for entry in self.stream if entry.event["event_id"] == event_id), None)

    def member(self, room: str, user: str, membership: str, by: str = "", **more: Any) -> Json:
        """Somebody's membership changes."""
        content = {"membership": membership, "displayname": self.names.get(user, user), **more}
        return self.add(room, "m.room.member", content, sender=by or user, state_key=user)

    def redact(self, event_id: str, by: str) -> None:
        """Remove the event's content."""
        entry = self.event(event_id)
        if entry is not None:
            entry.event["content"] = {}
            self.add(entry.room, "m.room.redaction", {"redacts": event_id}, sender=by)


def oversized(event: Json) -> bool:
    """Whether no homeserver takes it (client-server API, size limits)."""
    return len(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_EVENT


def chosen(only: Json) -> Callable[[Entry], bool]:
    """Which events a RoomEventFilter lets pass."""

    def passes(entry: Entry) -> bool:
        event = entry.event
        senders, types = only.get("senders"), only.get("types")
        return (senders is None or event["sender"] in senders) and (
            types is None or event["type"] in types
        )

    return passes
