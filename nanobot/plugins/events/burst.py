"""A burst: what happens to many things within seconds is one thing to tell."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

MOST = 1_000
"""Things of a burst that are kept by name."""


class Burst(msgspec.Struct, frozen=True, omit_defaults=True):
    """What has happened since `since`, by what it happened to, the latest of each. `total` counts
    everything, also what is not kept by name."""

    since: float
    things: Mapping[str, str]
    total: int

    @property
    def whole(self) -> bool:
        """Whether all are kept by name."""
        return len(self.things) < MOST


def grown(burst: Burst | None, things: Mapping[str, str], total: int, now: float) -> Burst:
    """A burst with more in it; it begins with the first."""
    if burst is None:
        burst = Burst(now, {}, 0)
    kept = dict(burst.things)
    for name, happened in things.items():
        if name in kept or len(kept) < MOST:
            kept[name] = happened
    return Burst(min(burst.since, now), kept, burst.total + total)


def over(burst: Burst | None, fold_seconds: float, now: float) -> bool:
    """Whether there is one, and it is time to tell it."""
    # A clock that was set back must not keep it waiting.
    return burst is not None and not burst.since <= now < burst.since + fold_seconds
