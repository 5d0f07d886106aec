"""How long to wait before something that failed is tried again."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from nanobot.errors import Fenced, StoreError
from nanobot.log_context import rarely_used_log

STORE_RETRY_SECONDS = 2.0

# A higher power of the factor exceeds the range of a float.
_LARGEST_EXPONENT = 64

T = TypeVar("T")


@dataclass(frozen=True)
class Backoff:
    """The time between retries."""

    first: float
    """Seconds after the first failure."""
    longest: float
    factor: float = 2.0
    """How much longer it is after each further failure."""
    rng: random.Random | None = None
    """Draws each delay from 80 to 120 % of that, so that failures at the same time are not retried
    at the same time."""

    def delay(self, failures: int) -> float:
        """Seconds until the next try, after so many failures in a row (1 or more)."""
        exponent = min(max(failures - 1, 0), _LARGEST_EXPONENT)
        seconds = min(self.first * self.factor**exponent, self.longest)
        return seconds if self.rng is None else seconds * self.rng.uniform(0.8, 1.2)


class Clock(Protocol):
    """The part of ports.Clock that measures and waits."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


async def until_stored(write: Callable[[], Awaitable[T]], clock: Clock, what: str) -> T:
    """Call `write` every 2 seconds while it raises StoreError, and return its result; the log names
    `what`. Raises Fenced at once, because a retry cannot succeed."""
    while True:
        try:
            return await write()
        except Fenced:
            raise
        except StoreError as error:
            rarely_used_log().error("{} waits for the store: {}", what, error)
            await clock.sleep(STORE_RETRY_SECONDS)
