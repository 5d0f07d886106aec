"""The messages that leave, as people see them."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from nanobot.messages import OutboundKind
from nanobot.text import WORDS, Sentence

_OUTBOX_STATES = (
    *("preview", "held", "digested", "pending", "sending", "sent"),
    *("replaced", "direct", "dead", "dropped"),
)


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """An answer on its way to a chat; `settled_at` is None until then."""

    channel: str
    state: str
    created_at: float
    settled_at: float | None


class OutboxView(msgspec.Struct, frozen=True, kw_only=True):
    """An outgoing message. `receipt`: the platform's ids of the parts that arrived, separated by
    commas; None until one arrives."""

    SHOWN: ClassVar[tuple[str, ...]] = ("id", "state", "address", "created_at", "text", "error")

    id: int
    address: str
    key: str
    state: Annotated[str, Meta(extra={WORDS: _OUTBOX_STATES})]
    attempts: int
    maybe_duplicate: bool
    receipt: str | None
    kind: OutboundKind
    text: str
    error: Sentence | None
    session_key: str
    run_id: str
    created_at: float
