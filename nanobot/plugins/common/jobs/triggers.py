"""Triggers: an external event becomes a prompt.

A trigger knows neither the agent loop nor any channel. It describes the event in words. The
configuration decides in which session and with which role the event is handled, and where the
answer goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias, runtime_checkable

Taken: TypeAlias = Literal["taken", "known", "full"]
"""The result of a trigger: accepted now, accepted earlier, or too much is waiting."""


class Publisher(Protocol):
    """Accepts events from one trigger."""

    async def publish(self, text: str, *, key: str = "") -> Taken:
        """Have the model act on `text`. The prompt is durable when this returns.

        `key` identifies the event: if it was published before, the result is `known` and nothing is
        done. Without a key every call is a new event. `full`: too many events are waiting and this
        one was not kept; try again later. Raises StoreError.
        """


@runtime_checkable
class Trigger(Protocol):
    """One source of events."""

    async def run(self, publisher: Publisher) -> None:
        """Publish events until cancelled. A trigger that raises is logged and restarted after a
        pause that grows; other triggers continue.
        """


@runtime_checkable
class Watching(Protocol):
    """A trigger that watches several things."""

    def seen(self) -> Mapping[str, str]:
        """Its latest reading of each in a few words, by name."""


class Triggers(Protocol):
    """All triggers of a gateway. The plugin `jobs` offers them, and runs them."""

    def gather(self) -> None:
        """Ask plugins and packages for theirs, once everything that they may request is offered.
        Broken ones are left out. Raises ConfigError for settings that a trigger rejects."""

    def seen(self) -> Mapping[str, str]:
        """The latest readings of those that watch something, by name."""
