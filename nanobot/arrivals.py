"""Files that arrive after their messages: the part of the Journal that is about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from nanobot.agent.states import RunKind
from nanobot.bus.events import Attachment, InboundMessage

FETCHING_SECONDS = 300.0
"""A message waits for its files so long at most."""


class Unfetched(msgspec.Struct, frozen=True):
    """A waiting message whose files are not here yet; `at` is when it was admitted."""

    inbound_id: int
    at: float
    message: InboundMessage


class Arrivals(Protocol):
    """Verbs of the Journal."""

    async def unfetched(self, channel: str) -> list[Unfetched]:
        """The waiting messages of a channel whose files are not here yet, oldest first."""
        ...

    async def fetched(
        self, inbound_id: int, attachments: Sequence[Attachment]
    ) -> tuple[str, RunKind] | None:
        """What came of a message's files, by their `ref`. Its lane, if it may go on now: with all
        of them here or given up, or 5 minutes after the message came."""
        ...
