"""The seam of triggers: something that happens outside becomes a prompt.

A trigger knows neither the loop nor any channel. It says in words what happened; whoever configured
it decided in which session that is handled, as what, and where the answer goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from nanobot.triggers.cron.jobs import Taken


class Publisher(Protocol):
    """Takes what happened, for one trigger."""

    async def publish(self, text: str, *, key: str = "") -> Taken:
        """Have `text` acted upon. When it returns, that is kept, and it survives any crash.

        `key` is the same whenever the same is published again, which is then `known` and nothing
        is done; without one every call is something new. `full`: too much waits already, nothing
        was kept, try again later. Raises StoreError."""
        ...


@runtime_checkable
class Trigger(Protocol):
    """One source of things that happen."""

    async def run(self, publisher: Publisher) -> None:
        """Publish what happens until cancelled. One that raises is named in the log and started
        again after a pause that grows; it takes nothing else with it."""
        ...


@runtime_checkable
class Watching(Protocol):
    """A trigger that looks at several things."""

    def seen(self) -> Mapping[str, str]:
        """What it saw last of each, in a few words, by its name."""
        ...
