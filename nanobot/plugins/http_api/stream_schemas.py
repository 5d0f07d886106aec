"""The events for clients and the messages over /ws, for the description of the HTTP API."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from nanobot.messages import RunEvent
from nanobot.plugins.common.http.web_channel import WebMessage
from nanobot.plugins.http_api.session_routes import SaidMessage
from nanobot.plugins.http_api.socket import Call, Follow, Leave, Say
from nanobot.plugins.http_api.watching import Overview, Snapshot


class _Item(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    session_key: str | None


class SessionSnapshot(_Item, frozen=True, kw_only=True, tag="snapshot", tag_field="type"):
    """The state of a session."""

    snapshot: Snapshot


class OverviewSnapshot(_Item, frozen=True, kw_only=True, tag="snapshot", tag_field="type"):
    """The state of all sessions."""

    snapshot: Overview


class EventItem(_Item, frozen=True, kw_only=True, tag="event", tag_field="type"):
    """An event of a run."""

    event: RunEvent


class SaidItem(_Item, frozen=True, kw_only=True, tag="said", tag_field="type"):
    """A person sent a message over HTTP."""

    said: SaidMessage


class MessageItem(_Item, frozen=True, kw_only=True, tag="message", tag_field="type"):
    """A message to the page."""

    message: WebMessage


class SocketResult(msgspec.Struct, frozen=True, kw_only=True, tag="result", tag_field="type"):
    """The answer to the request with that key."""

    key: str
    result: Any


class SocketError(msgspec.Struct, frozen=True, kw_only=True, tag="error", tag_field="type"):
    """Why the request with that key was refused."""

    key: str
    error: dict[str, str]


SessionItem: TypeAlias = SessionSnapshot | EventItem | SaidItem | MessageItem
OverviewItem: TypeAlias = OverviewSnapshot | EventItem | SaidItem | MessageItem
SocketRequest: TypeAlias = Follow | Leave | Say | Call
SocketAnswer: TypeAlias = SocketResult | SocketError
