"""What was said while nobody listened: an adapter reads it, the host puts it in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec

from nanobot.messages import Address, InboundMessage


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter found in the history of a place, the oldest first. `latest` is the highest
    position that it read; `places` are where else there is news, such as threads."""

    messages: Sequence[InboundMessage] = ()
    latest: int = 0
    places: Sequence[Address] = ()


class History(Protocol):
    """A platform's memory. Its messages have positions: integers that grow with time."""

    @property
    def per_second(self) -> int:
        """By so much positions grow each second."""
        ...

    @property
    def hours(self) -> float:
        """So far back a look goes at most."""
        ...

    async def now(self) -> int:
        """The position of a message that were sent now, by the platform's clock."""
        ...

    def cursor(self, latest: int, first: int) -> str:
        """A text that holds both positions."""
        ...

    def positions(self, cursor: str) -> tuple[int, int] | None:
        """Both again; None if the text is no cursor."""
        ...

    async def missed(self, place: Address, since: int) -> Missed:
        """What was said in a chat or a thread behind that position. Raises ChannelDown if the
        platform does not answer; a place that may not be read has nothing."""
        ...


class CatchUp(Protocol):
    """Where live messages go while others are looked up; see Intake.in_order. `kept` is the
    position up to which everything is committed."""

    kept: int

    async def begin(self) -> bool:
        """Read the stored cursor. False at the very first start: what was said before is not looked
        up, and now is kept as the first position."""
        ...

    async def look_back(self, places: Iterable[Address]) -> None:
        """Messages may have been missed: each of these places is looked up from now on."""
        ...

    async def run(self) -> None:
        """Look up until cancelled, those places first where live messages wait."""
        ...

    async def take(
        self, message: InboundMessage, at: int = 0, done: Callable[[], None] = lambda: None
    ) -> None:
        """Commit a live message, at position `at` (0: it has none), or keep it until what was
        missed before it is committed. `done` is called when it is on disk."""
        ...

    async def admit(self, message: InboundMessage, at: int = 0) -> None:
        """Commit a message that no history has (a press, a reaction) without waiting."""
        ...

    def passed(self, at: int) -> None:
        """A message at this position is nobody's question; the cursor may move over it."""
        ...

    @property
    def settled(self) -> bool:
        """Whether nothing is being looked up, and nothing waits for it."""
        ...
