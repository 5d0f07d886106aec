"""The port to what counts the model calls, for those who show how much was spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from nanobot.seam.installed import Interface

if TYPE_CHECKING:  # loads more than --help needs
    from nanobot.config.loader import Config


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of the calls of the last minute, and the dollars of this day."""

    tokens_a_minute: int
    cost_today: float


class Spending(Protocol):
    """What model calls use. A plugin offers it; while none is on, nothing is counted."""

    async def spent(self) -> Spent:
        """What was spent by now. Raises StoreError."""

    async def used_shares(self) -> Mapping[str, float]:
        """Which share of each daily limit for everybody is used, by tokens, cost and requests.
        Raises StoreError."""


COST_LIMITED: Interface[Callable[[Config], bool]] = Interface("cost_limited")
"""Whether the cost of calls is limited, and nothing else limits them: a model whose price is
unknown then has no limit."""
