"""Checks that a database has the columns of its recorded revision.

A revision is only a number in a table. Without this check, tables that another build made under the
same number would be used until the first statement that needs a missing column, after an upgrade
that cannot be reverted.
"""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.errors import StoreForeign
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import dialect_of

_NAMED = 3


ADDED: Mapping[str, frozenset[str]] = {
    "0003": frozenset({"usage_changes"}),
    "0004": frozenset({"voice_answers"}),
    "0005": frozenset({"access_tokens"}),
    "0006": frozenset({"archived_logs"}),
    "0008": frozenset({"log_words", "indexed_logs", "session_marks"}),
    "0009": frozenset({"model_call_costs.price_cache_write"}),
    "0010": frozenset({"push_subscriptions", "push_keys"}),
    "0011": frozenset({"quarantine"}),
    "0012": frozenset({"mcp_tools", "approval_rules.label"}),
}
"""The tables that each revision adds, and the columns that it adds to older tables, as
TABLE.COLUMN. Revisions only add; one that is missing here adds neither."""


def expected(revision: str) -> frozenset[str]:
    """Every column of a database at that revision, as TABLE.COLUMN."""
    later = {name for number, names in ADDED.items() if number > revision for name in names}
    return frozenset(
        f"{table.name}.{column.name}"
        for table in schema.metadata().tables.values()
        for column in table.columns
        if not later & {table.name, f"{table.name}.{column.name}"}
    )


def missing(connection: Connection, revision: str) -> list[str]:
    """The columns of that revision that the database lacks, sorted."""
    found = connection.exec_driver_sql(dialect_of(connection).columns)
    there = {f"{table}.{column}" for table, column in found}
    return sorted(expected(revision) - there)


def verify(connection: Connection, revision: str) -> None:
    """Raises StoreForeign if the database lacks columns of its revision."""
    lacking = missing(connection, revision)
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        raise StoreForeign(
            f"the database says that it has revision {revision}, and lacks the columns "
            f"{', '.join(lacking[:_NAMED])}{more}: another build of nanobot made it. Nothing was "
            "changed; open it with the build that made it, or restore a backup"
        )
