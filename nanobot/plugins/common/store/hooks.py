"""Participants in the transactions of a store that a program opens without a gateway."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from nanobot.seam.installed import Interface, provided
from nanobot.store.opening import HooksOf
from nanobot.store.unit import (
    CallLedger,
    HumanWaits,
    NotificationLimiter,
    StoreContext,
    StoreHooks,
    TaskEnds,
)

T = TypeVar("T")
TASK_ENDS: Interface[Callable[[], TaskEnds]] = Interface("task_ends")
"""Makes what takes part for background runs."""
HUMAN_WAITS: Interface[Callable[[], HumanWaits]] = Interface("human_waits")
"""Makes what takes part for runs that wait for people."""


def store_hooks(
    ledger: Callable[[StoreContext], CallLedger] | None = None,
    quiet: Callable[[StoreContext], NotificationLimiter] | None = None,
    brought: Callable[[StoreContext], StoreHooks] = lambda _: StoreHooks(),
) -> HooksOf:
    """Background runs and waits for people, if plugins do them, with these participants. A gateway
    has those of the plugins that are on (`nanobot.app.bringing.brought_hooks`)."""

    def hooks(context: StoreContext) -> StoreHooks:
        parts = brought(context)
        return msgspec.structs.replace(
            parts,
            ledger=parts.ledger if ledger is None else ledger(context),
            tasks=_made(TASK_ENDS) or parts.tasks,
            waits=_made(HUMAN_WAITS),
            notifications=parts.notifications if quiet is None else quiet(context),
        )

    return hooks


def _made(interface: Interface[Callable[[], T]]) -> T | None:
    make = provided(interface)
    return None if make is None else make()
