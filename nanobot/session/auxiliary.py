"""Model calls outside a run's main loop, such as triage and summaries.

Like every model call they are reserved before they are made, so they cannot exceed a budget, and
settled in the transaction that records their result. If the process dies before a call ends, the
call counts as much as was reserved.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from nanobot.providers.base import ModelProfile, Usage
from nanobot.session.store_write import StoreWrite


class AuxiliaryCall(msgspec.Struct, frozen=True, kw_only=True):
    """A planned call: estimated prompt tokens, and the maximum of answer tokens. `apart`: it comes
    after its run, so the run's own cost limit does not apply."""

    profile: ModelProfile
    estimate: int
    max_tokens: int
    apart: bool = False


class Reservation(Protocol):
    """Permission to make one call."""

    @property
    def max_tokens(self) -> int:
        """Answer tokens that every budget has room for."""

    def settled(self, usage: Usage) -> StoreWrite:
        """Return the write that settles the reservation once, in the transaction that records the
        result. Without tokens the call counts as failed."""


class NoReservation(msgspec.Struct, frozen=True):
    """A reservation where no usage is recorded."""

    max_tokens: int

    def settled(self, usage: Usage) -> StoreWrite:
        return self

    def write(self, connection: Any) -> None:
        """See Write."""

    def written(self) -> None:
        """See Write."""


class CallAccount(Protocol):
    """Where auxiliary calls are charged. Both methods raise OverBudget."""

    async def start_auxiliary(self, call: AuxiliaryCall) -> Reservation:
        """Reserve a call before it is made."""

    async def start_retry(self, discarded: Usage) -> None:
        """Reserve another request of the same call after one failed. The failed request is charged
        for the tokens in `discarded`."""
