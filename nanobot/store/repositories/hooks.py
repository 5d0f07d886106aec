"""Participants in the transactions of a store that a program opens without a gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address, OutboundMessage
from nanobot.seam.faces import Interface
from nanobot.seam.installed import provided
from nanobot.session.outbox import OutboundRow
from nanobot.session.runs import Ending, Run
from nanobot.store.opening import HooksOf
from nanobot.store.repositories.erasures import PLUGIN, InPlugin, note
from nanobot.store.unit import (
    CallLedger,
    HumanWaits,
    NotificationLimiter,
    StoreContext,
    StoreHooks,
    TaskEnds,
)

T = TypeVar("T")
TASK_ENDS: Interface[Callable[[StoreContext], TaskEnds]] = Interface("task_ends")
"""Makes what takes part for background runs."""
HUMAN_WAITS: Interface[Callable[[StoreContext], HumanWaits]] = Interface("human_waits")
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
            tasks=_made(TASK_ENDS, context),
            waits=_made(HUMAN_WAITS, context),
            notifications=parts.notifications if quiet is None else quiet(context),
        )

    return hooks


def _made(interface: Interface[Callable[[StoreContext], T]], context: StoreContext) -> T | None:
    make = provided(interface)
    return None if make is None else make(context)


class ContainedHooks:
    """What a package's object does in transactions that others wait for: if it fails, `failing`
    notes it, its own changes are undone, and the transaction continues."""

    def __init__(
        self, plugin: str, hook: Any, failing: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self.plugin = plugin
        self._hook = hook
        self._failing = failing

    def ends(self, connection: sa.Connection, run: Run, ending: Ending) -> None:
        """See EndHook. The run has ended, and its answer must not wait."""
        with self._undone(connection):
            self._hook.ends(connection, run, ending)

    def arrives(self, connection: sa.Connection, row: OutboundRow) -> None:
        """See ArrivalHook. The message has arrived, and must not be sent again."""
        with self._undone(connection):
            self._hook.arrives(connection, row)

    def erases(self, connection: sa.Connection, session_key: str) -> None:
        """See EraseHook. The conversation is removed; what the plugin keeps of it is recorded as
        not erased yet."""
        erased = False
        with self._undone(connection):
            self._hook.erases(connection, session_key)
            erased = True
        if not erased:
            place = InPlugin(self.plugin, session_key)
            note(connection, PLUGIN, msgspec.json.encode(place).decode())

    def erases_again(self, connection: sa.Connection, session_key: str) -> None:
        """After it failed, maybe when nothing else of the conversation is left. Raises what the
        plugin raises."""
        self._hook.erases(connection, session_key)

    def posted(self, connection: sa.Connection, message: OutboundMessage) -> None:
        """See NotificationLimiter. The message is sent without a limit."""
        with self._undone(connection):
            self._hook.posted(connection, message)

    def release(
        self, connection: sa.Connection, after: Address | None
    ) -> tuple[list[Address], Address | None]:
        """See NotificationLimiter. What is held back stays so."""
        owes: list[Address] = []
        position = None
        with self._undone(connection):
            given: tuple[list[Address], Address | None] = self._hook.release(connection, after)
            owes, position = given
        return owes, position

    @contextmanager
    def _undone(self, connection: sa.Connection) -> Iterator[None]:
        connection.exec_driver_sql("SAVEPOINT hook")
        done = False
        with self._failing():
            yield
            done = True
        if not done:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT hook")
        connection.exec_driver_sql("RELEASE SAVEPOINT hook")
