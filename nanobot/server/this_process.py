"""What this process does and knows, as the others are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

import msgspec

from nanobot.server.signals import Here
from nanobot.session.entries import ReplyEntry


class ThisProcess(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it drives lanes and fires jobs now, which channels it serves, which shared ones it
    answers for, whether it has a lane in hand, what a run here has said, and whether a run is over.
    `jobs_changed` is called when jobs have changed elsewhere."""

    drives: Callable[[], bool]
    schedules: Callable[[], bool]
    serves: Callable[[], Collection[str]]
    speaks: Callable[[], Collection[str]]
    holds: Callable[[str], bool]
    partial: Callable[[str], ReplyEntry | None]
    ended: Callable[[str], Awaitable[bool]]
    jobs_changed: Callable[[], None]

    def here(self, name: str) -> Here:
        """As it introduces itself under that name."""
        return Here(
            name,
            self.drives(),
            self.schedules(),
            tuple(self.serves()),
            speaks=tuple(self.speaks()),
            beats=True,
        )
