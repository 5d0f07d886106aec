"""Calls of models beside those of a run, such as for triage and for summaries.

Like any other they are reserved before they are made, so that no limit is passed by them, and
settled in the transaction that records what came of them. One that nobody heard the end of, because
its process is gone, counts as it was reserved.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from nanobot.providers.base import ModelProfile, Usage
from nanobot.session.store_write import StoreWrite


class AuxiliaryCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call about to be made: tokens of its prompt (an estimate), and of its answer at most.
    `apart`: it comes after its run, whose own limit of cost does not concern it."""

    profile: ModelProfile
    estimate: int
    max_tokens: int
    apart: bool = False


class Reservation(Protocol):
    """A call that may be made."""

    @property
    def max_tokens(self) -> int:
        """Tokens that its answer may have, so that it fits every budget."""
        ...

    def settled(self, usage: Usage) -> StoreWrite:
        """What settles it, once, in whatever transaction records what came of it; no tokens: it
        failed."""
        ...


class NoReservation(msgspec.Struct, frozen=True):
    """Where nobody keeps account."""

    max_tokens: int

    def settled(self, usage: Usage) -> StoreWrite:
        return self

    def write(self, connection: Any) -> None:
        """See Write."""

    def written(self) -> None:
        """See Write."""


class CallAccount(Protocol):
    """On whose account auxiliary calls go. Both raise OverBudget."""

    async def start_auxiliary(self, call: AuxiliaryCall) -> Reservation:
        """A call is about to be made."""
        ...

    async def start_retry(self, discarded: Usage) -> None:
        """One more request of it is about to be made, after one that failed and is paid for as far
        as `discarded` says."""
        ...
