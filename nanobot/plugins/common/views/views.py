"""Sessions and runs as people and programs see them.

The fields of these views are public, because scripts read them as JSON. Fields may be added; none
is removed or changes its meaning. Times are unix seconds. `SHOWN`: what lists show of them.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from nanobot.session.runs import RunUsage
from nanobot.session.states import RunKind, RunState
from nanobot.text import Sentence


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A session."""

    SHOWN: ClassVar[tuple[str, ...]] = (
        *("key", "title", "updated_at", "has_unread", "pinned", "archived"),
        *("waiting", "run", "found"),
    )

    key: str
    title: str
    has_unread: bool
    """It changed since it was read; a chat's is read when a message arrives there, one of the page
    when a person views it."""
    updated_at: float
    created_at: float
    model: str | None
    entries: int
    waiting: int
    """Messages without a run."""
    run: str | None
    """Its live run."""
    pinned: bool = False
    archived: bool = False
    found: str = ""
    """The text that matches a search."""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run. Background runs have a `type`, a `title` and a `parent_session`, where their end is
    reported."""

    SHOWN: ClassVar[tuple[str, ...]] = (
        "id",
        "state",
        "session_key",
        "created_at",
        "about",
        "error",
    )

    id: str
    session_key: str
    kind: RunKind
    state: RunState
    parent: str | None
    """The run that started it."""
    inbound_ids: tuple[int, ...]
    """The messages that it answers."""
    usage: RunUsage | None
    """Set after it ended."""
    error: Sentence | None
    origin: str
    address: str
    attempts: int
    created_at: float
    ended_at: float | None
    type: str | None = None
    title: str | None = None
    parent_session: str | None = None
    about: str = ""
    """Its title, or the first sentence of the message that it answers."""
