"""Quarantine of a store that is named by its URL: it is read while a gateway runs, and changed only
when none does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import sqlalchemy as sa

from nanobot.errors import UsageError
from nanobot.plugins.common.store.at_rest import at_rest, reading
from nanobot.plugins.quarantine.content import QuarantinedContent
from nanobot.plugins.quarantine.store import rows, survey
from nanobot.plugins.quarantine.store.survey import Unreadable
from nanobot.session.quarantine import Quarantined
from nanobot.store.database import migrate
from nanobot.store.unit import StoreContext, Unit
from nanobot.system import RandomIds, SystemClock


@contextmanager
def _current(url: str) -> Iterator[sa.Connection]:
    """A connection that reads a store with the tables of this version. Raises UsageError."""
    with reading(url) as connection:
        if migrate.current(connection) != migrate.OURS.head:
            raise UsageError("an earlier nanobot wrote the store: the next start updates it")
        yield connection


def unreadable(url: str) -> list[Unreadable]:
    """Every unreadable row of the store; changes nothing."""
    with _current(url) as connection:
        return list(survey.survey(connection, SystemClock().now()))


def listed(url: str, *, table: str, restored: bool, limit: int) -> list[Quarantined]:
    """The rows in quarantine, the latest first."""
    with _current(url) as connection:
        return rows.listed(
            connection, tables=[table] if table else (), restored=restored, limit=limit
        )


def shown(url: str, identity: int) -> QuarantinedContent:
    """One row with its content. Raises UnknownId."""
    with _current(url) as connection:
        return rows.shown(connection, identity)


def restore(url: str, identity: int, values: Mapping[str, str]) -> Quarantined:
    """Put a row back. Raises StoreLocked while a gateway runs, UsageError like
    `rows.restore`.
    """
    writer = StoreContext(SystemClock(), RandomIds(), "quarantine")
    with at_rest(url) as database:
        return database.run_now(
            lambda connection: rows.restore(Unit(connection, writer), identity, values)
        )
