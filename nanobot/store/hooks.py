"""Participants of packages in the transactions of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from nanobot.messages import Address, OutboundMessage
from nanobot.session.outbox import OutboundRow
from nanobot.session.runs import Ending, Run
from nanobot.store.database.connection import Connection


class ContainedHooks:
    """What a package's object does in transactions that others wait for: if it fails, `failing`
    notes it, its own changes are undone, and the transaction continues."""

    def __init__(
        self, plugin: str, hook: Any, failing: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self.plugin = plugin
        self._hook = hook
        self._failing = failing

    def ends(self, connection: Connection, run: Run, ending: Ending) -> None:
        """See EndHook. The run has ended, and its answer must not wait."""
        with self._undone(connection):
            self._hook.ends(connection, run, ending)

    def arrives(self, connection: Connection, row: OutboundRow) -> None:
        """See ArrivalHook. The message has arrived, and must not be sent again."""
        with self._undone(connection):
            self._hook.arrives(connection, row)

    def erases(self, connection: Connection, session_key: str) -> None:
        """See EraseHook. Unlike the others, it raises what the plugin raises."""
        self._hook.erases(connection, session_key)

    def erased(self, connection: Connection, session_key: str) -> bool:
        """Like `erases`; False if that failed. The conversation is removed all the same."""
        with self._undone(connection):
            self._hook.erases(connection, session_key)
            return True
        return False

    def posted(self, connection: Connection, message: OutboundMessage) -> None:
        """See NotificationLimiter. The message is sent without a limit."""
        with self._undone(connection):
            self._hook.posted(connection, message)

    def release(
        self, connection: Connection, after: Address | None
    ) -> tuple[list[Address], Address | None]:
        """See NotificationLimiter. What is held back stays so."""
        owes: list[Address] = []
        position = None
        with self._undone(connection):
            given: tuple[list[Address], Address | None] = self._hook.release(connection, after)
            owes, position = given
        return owes, position

    @contextmanager
    def _undone(self, connection: Connection) -> Iterator[None]:
        connection.exec_driver_sql("SAVEPOINT hook")
        done = False
        with self._failing():
            yield
            done = True
        if not done:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT hook")
        connection.exec_driver_sql("RELEASE SAVEPOINT hook")
