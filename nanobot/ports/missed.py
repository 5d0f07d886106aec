"""Messages sent while the channel was down: an adapter reads them, the host puts them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from nanobot.messages import Address, InboundMessage


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter found in a place's history, oldest first. `latest`: the highest position that
    it read; `places`: other places with news, such as threads."""

    messages: Sequence[InboundMessage] = ()
    latest: int = 0
    places: Sequence[Address] = ()


class History(Protocol):
    """A platform's history. Its messages have positions: integers that grow with time."""

    @property
    def per_second(self) -> int:
        """How much positions grow each second."""

    @property
    def hours(self) -> float:
        """How far back a look-up goes at most."""

    async def now(self) -> int:
        """The position of a message sent now, by the platform's clock."""

    def cursor(self, latest: int, first: int) -> str:
        """Encode both positions as text."""

    def positions(self, cursor: str) -> tuple[int, int] | None:
        """Decode them; None if the text is not a cursor."""

    async def missed(self, place: Address, since: int) -> Missed:
        """The messages in a chat or thread after that position. Raises ChannelDown if the platform
        does not respond; an unreadable place has none."""


class CatchUp(Protocol):
    """Holds live messages while missed ones are looked up; see Intake.in_order. `kept`: everything
    up to this position is committed."""

    kept: int

    async def begin(self) -> bool:
        """Read the stored cursor. False at the very first start: earlier messages are not looked
        up, and the current position is stored."""

    async def look_back(self, places: Iterable[Address]) -> None:
        """Messages may have been missed: look up each of these places."""

    async def run(self) -> None:
        """Look up until cancelled, first the places where live messages wait."""

    async def take(
        self, message: InboundMessage, at: int = 0, done: Callable[[], None] = lambda: None
    ) -> None:
        """Commit a live message at position `at` (0: none), or hold it until earlier missed
        messages are committed. `done` is called when it is on disk."""

    async def admit(self, message: InboundMessage, at: int = 0) -> None:
        """Commit a message that is in no history (a press, a reaction) without waiting."""

    def passed(self, at: int) -> None:
        """A message at this position is not for the assistant; the cursor may move past it."""

    @property
    def settled(self) -> bool:
        """Whether no look-up is active and no message is held."""
