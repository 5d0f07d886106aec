"""Participants in the transactions of a store that a program opens without a gateway."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import msgspec
import sqlalchemy as sa

from nanobot.seam.faces import Interface
from nanobot.seam.installed import provided
from nanobot.session.outbox import OutboundRow
from nanobot.store.opening import HooksOf
from nanobot.store.unit import (
    ArrivalHook,
    CallLedger,
    NotificationLimiter,
    StoreContext,
    StoreHooks,
    TaskEnds,
)

TASK_ENDS: Interface[Callable[[StoreContext], TaskEnds]] = Interface("task_ends")
"""Makes what takes part for background runs."""


def store_hooks(
    ledger: Callable[[StoreContext], CallLedger] | None = None,
    quiet: Callable[[StoreContext], NotificationLimiter] | None = None,
    brought: Callable[[StoreContext], StoreHooks] = lambda _: StoreHooks(),
) -> HooksOf:
    """Background runs, if a plugin does them, with these participants. A gateway has those of the
    plugins that are on (`nanobot.app.bringing.brought_hooks`)."""

    def hooks(context: StoreContext) -> StoreHooks:
        parts = brought(context)
        return msgspec.structs.replace(
            parts,
            ledger=parts.ledger if ledger is None else ledger(context),
            tasks=_tasks(context),
            notifications=parts.notifications if quiet is None else quiet(context),
        )

    return hooks


def _tasks(context: StoreContext) -> TaskEnds | None:
    make = provided(TASK_ENDS)
    return None if make is None else make(context)


class ContainedArrivals:
    """An ArrivalHook whose failure is noted by `failing` and undone: the message has arrived, and
    must not be sent again."""

    def __init__(
        self, hook: ArrivalHook, failing: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._hook = hook
        self._failing = failing

    def arrives(self, connection: sa.Connection, row: OutboundRow) -> None:
        connection.exec_driver_sql("SAVEPOINT arrival")
        done = False
        with self._failing():
            self._hook.arrives(connection, row)
            done = True
        if not done:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT arrival")
        connection.exec_driver_sql("RELEASE SAVEPOINT arrival")
