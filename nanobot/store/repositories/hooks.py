"""Participants in the transactions of a store, passed in when the store is opened."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import msgspec
import sqlalchemy as sa

from nanobot.session.outbox import OutboundRow
from nanobot.store.opening import HooksOf
from nanobot.store.repositories.tasks import SqlTaskEnds
from nanobot.store.unit import (
    ArrivalHook,
    CallLedger,
    NotificationLimiter,
    StoreContext,
    StoreHooks,
)


def store_hooks(
    ledger: Callable[[StoreContext], CallLedger] | None = None,
    quiet: Callable[[StoreContext], NotificationLimiter] | None = None,
    brought: Callable[[StoreContext], StoreHooks] = lambda _: StoreHooks(),
) -> HooksOf:
    """Background runs, with these participants and those that plugins provide."""

    def hooks(context: StoreContext) -> StoreHooks:
        parts = brought(context)
        return msgspec.structs.replace(
            parts,
            ledger=parts.ledger if ledger is None else ledger(context),
            tasks=SqlTaskEnds(context),
            notifications=parts.notifications if quiet is None else quiet(context),
        )

    return hooks


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
