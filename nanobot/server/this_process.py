"""The activity and state of this process, as told to the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

import msgspec

from nanobot.server.signals import Here
from nanobot.session.entries import ReplyEntry


class ThisProcess(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it drives lanes and fires jobs now, which channels it serves, which shared ones it
    answers for, whether it holds a lane, the output of a run here so far, and whether a run has
    ended. `jobs_changed` is called when jobs have changed in another process.
    """

    drives: Callable[[], bool]
    schedules: Callable[[], bool]
    serves: Callable[[], Collection[str]]
    speaks: Callable[[], Collection[str]]
    holds: Callable[[str], bool]
    partial: Callable[[str], ReplyEntry | None]
    ended: Callable[[str], Awaitable[bool]]
    jobs_changed: Callable[[], None]

    def here(self, name: str) -> Here:
        """Its introduction under that name."""
        return Here(
            name,
            self.drives(),
            self.schedules(),
            tuple(self.serves()),
            speaks=tuple(self.speaks()),
            beats=True,
        )
