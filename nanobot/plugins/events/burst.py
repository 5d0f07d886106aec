"""A burst: many changes within seconds are reported as one event."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

MOST = 1_000
"""Maximum things of a burst that are kept by name."""


class Burst(msgspec.Struct, frozen=True, omit_defaults=True):
    """The changes since `since`, by the thing that changed, only the latest for each. `total`
    counts all changes, including those not kept by name.
    """

    since: float
    things: Mapping[str, str]
    total: int

    @property
    def whole(self) -> bool:
        """Whether all changes are kept by name."""
        return len(self.things) < MOST


def grown(burst: Burst | None, things: Mapping[str, str], total: int, now: float) -> Burst:
    """The burst with more changes added; the first change starts it."""
    if burst is None:
        burst = Burst(now, {}, 0)
    kept = dict(burst.things)
    for name, happened in things.items():
        if name in kept or len(kept) < MOST:
            kept[name] = happened
    return Burst(min(burst.since, now), kept, burst.total + total)


def over(burst: Burst | None, fold_seconds: float, now: float) -> bool:
    """Whether a burst exists and is due to be reported."""
    # If the clock was set back, the burst must not wait.
    return burst is not None and not burst.since <= now < burst.since + fold_seconds
