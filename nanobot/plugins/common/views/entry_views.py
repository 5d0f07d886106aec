"""Entries of logs as people and scripts see them. Fields may be added; none is removed."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nanobot.session.entries import Body
from nanobot.text import SHAPE


class EntryView(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a session's log. `body` is None once its payload is erased."""

    seq: int
    run_id: str
    at: float
    kind: str
    body: Annotated[dict[str, Any], Meta(extra={SHAPE: Body})] | None
