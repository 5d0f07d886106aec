"""Calls of models beside those of a run, such as for triage and for summaries.

Like any other they are reserved before they are made, so that no limit is passed by them, and
settled in the transaction that records what came of them. One that nobody heard the end of, because
its process is gone, counts as it was reserved.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

import msgspec

from nanobot.ports import StoreWrite
from nanobot.providers.base import ModelProfile, Usage


class AuxiliaryCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call about to be made: tokens of its prompt (an estimate), and of its answer at most.
    `apart`: it comes after its run, whose own limit of cost does not concern it."""

    profile: ModelProfile
    estimate: int
    max_tokens: int
    apart: bool = False


class AuxiliaryUsage(msgspec.Struct, frozen=True):
    """What a call took in the end; of one that failed, its requests and no tokens."""

    usage: Usage
    requests: int = 1


class Reservation(Protocol):
    """A call that may be made."""

    @property
    def max_tokens(self) -> int:
        """Tokens that its answer may have, so that it fits every budget."""
        ...

    def settled(self, took: AuxiliaryUsage) -> StoreWrite:
        """What settles it, once, in whatever transaction records what came of it."""
        ...


class NoReservation(msgspec.Struct, frozen=True):
    """See Reserved: where nobody keeps account."""

    max_tokens: int

    def settled(self, took: AuxiliaryUsage) -> StoreWrite:
        """Nothing is to be settled."""
        return self

    def write(self, connection: Any) -> None:
        """See Write."""

    def written(self) -> None:
        """See Write."""


Reserve: TypeAlias = Callable[[AuxiliaryCall], Awaitable[Reservation]]
"""Reserves a call; raises OverBudget."""
