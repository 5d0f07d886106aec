"""Requests to /sync and /messages, their answers, and the cursor."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec

from nanobot_channels.common.shapes import table
from nanobot_channels.matrix.api import Api, Request, path
from nanobot_channels.matrix.events import POLLS

HELD_SECONDS = 30
"""How long the homeserver holds a poll without new events."""
_PAGE = 100

Json = dict[str, Any]

_TYPES = ["m.room.message", "m.sticker", "m.room.member", "m.room.encrypted", "m.room.tombstone"]
_TYPES += ["m.reaction", "m.room.redaction", *POLLS]
_FILTER = {
    "presence": {"types": []},
    "account_data": {"types": ["m.direct"]},
    "room": {
        "account_data": {"types": []},
        "ephemeral": {"types": []},
        "state": {"types": ["m.room.member", "m.room.tombstone"], "lazy_load_members": True},
        "timeline": {"types": _TYPES, "limit": _PAGE},
    },
}


class Cursor(msgspec.Struct, frozen=True, omit_defaults=True):
    """The position in this account's rooms."""

    user: str
    since: str
    at: float = 0
    """When the last event was sent, in milliseconds."""
    first: float = 0
    """When the bot came, in milliseconds."""
    invited: tuple[str, ...] = ()
    """Rooms still to join."""
    upgraded: tuple[tuple[str, str, str], ...] = ()
    """Rooms that say that another replaces them: their id, that of the other, and a server that
    knows it."""
    told: tuple[str, ...] = ()
    """Encrypted rooms that have had the notice."""


class Timeline(msgspec.Struct, frozen=True):
    """The latest events of a room. `limited`: there are more between them and the cursor."""

    events: list[Json] = []
    limited: bool = False
    prev_batch: str = ""


class _Events(msgspec.Struct, frozen=True):
    events: list[Json] = []


class Joined(msgspec.Struct, frozen=True):
    """A room that the bot is in."""

    timeline: Timeline = Timeline()
    state: _Events = _Events()


class _Invited(msgspec.Struct, frozen=True):
    invite_state: _Events = _Events()


class _Rooms(msgspec.Struct, frozen=True):
    join: Json = {}
    invite: Json = {}
    leave: Json = {}


class Answer(msgspec.Struct, frozen=True):
    """A response of /sync. Rooms are undecoded: an unreadable one must not cost the others."""

    next_batch: str
    rooms: _Rooms = _Rooms()
    account_data: _Events = _Events()


def decode(cursor: str | None) -> Cursor | None:
    """The stored cursor, None if the text is not a cursor."""
    try:
        return msgspec.json.decode(cursor or "", type=Cursor)
    except msgspec.DecodeError:
        return None


def encode(cursor: Cursor) -> str:
    """The cursor as text, for `decode`."""
    return msgspec.json.encode(cursor).decode()


async def sync(api: Api, since: str, wait_seconds: int) -> Answer:
    """The events after `since`; without it the rooms' present state.

    Raises ApiRefusal, NoAnswer, or ValueError for an invalid response.
    """
    query = {"timeout": str(wait_seconds * 1000), "filter": msgspec.json.encode(_FILTER).decode()}
    if since:
        query["since"] = since
    request = ("GET", f"{path('sync')}?{urlencode(query)}")
    answer = await api.call("sync", request, seconds=wait_seconds + 60)
    return msgspec.convert(answer, Answer)


def messages(room_id: str, start: str, end: str = "", *, sender: str = "") -> Request:
    """A request for the messages before `start` (the latest, if empty), newest first, back to `end`
    at most; by `sender` only."""
    only: Json = {"types": _TYPES} | ({"senders": [sender]} if sender else {})
    query = {"dir": "b", "limit": str(_PAGE), "filter": msgspec.json.encode(only).decode()}
    query |= ({"from": start} if start else {}) | ({"to": end} if end else {})
    return ("GET", f"{path('rooms', room_id, 'messages')}?{urlencode(query)}")


def invitation(value: object, user_id: str) -> tuple[str, bool]:
    """The inviter, "" if unknown, and whether they mean a chat of two."""
    try:
        invited = msgspec.convert(value, _Invited)
    except msgspec.ValidationError:
        return "", False
    for event in invited.invite_state.events:
        content = table(event.get("content"))
        if event.get("type") != "m.room.member" or event.get("state_key") != user_id:
            continue
        if content.get("membership") == "invite":
            return str(event.get("sender") or ""), content.get("is_direct") is True
    return "", False
