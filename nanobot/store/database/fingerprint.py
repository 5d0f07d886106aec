"""Checks that a database has the columns of its recorded revision.

A revision is only a number in a table. Without this check, tables that another build made under the
same number would be used until the first statement that needs a missing column, after an upgrade
that cannot be reverted.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import sqlalchemy as sa

from nanobot.errors import StoreForeign
from nanobot.store.database import schema

_SQLITE = (
    "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c "
    "WHERE m.type = 'table'"
)
_POSTGRES = (
    "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = current_schema()"
)
_NAMED = 3


class Introduced(msgspec.Struct, frozen=True):
    """The tables that a revision adds, and the columns that it adds to older tables, as
    TABLE.COLUMN.
    """

    tables: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()


INTRODUCED: Mapping[str, Introduced] = {
    "0003": Introduced(tables=frozenset({"usage_changes"})),
    "0004": Introduced(tables=frozenset({"voice_answers"})),
    "0005": Introduced(tables=frozenset({"access_tokens"})),
    "0006": Introduced(tables=frozenset({"archived_logs"})),
    "0008": Introduced(tables=frozenset({"log_words", "indexed_logs", "session_marks"})),
    "0009": Introduced(columns=frozenset({"model_call_costs.price_cache_write"})),
    "0010": Introduced(tables=frozenset({"push_subscriptions", "push_keys"})),
    "0011": Introduced(tables=frozenset({"quarantine"})),
    "0012": Introduced(
        tables=frozenset({"mcp_tools"}), columns=frozenset({"approval_rules.label"})
    ),
}
"""By revision. Revisions only add; one that is missing here adds neither tables nor columns."""


def expected(revision: str) -> frozenset[str]:
    """Every column of a database at that revision, as TABLE.COLUMN."""
    later = [added for number, added in INTRODUCED.items() if number > revision]
    tables = frozenset[str]().union(*(added.tables for added in later))
    columns = frozenset[str]().union(*(added.columns for added in later))
    names = (
        f"{table.name}.{column.name}"
        for table in schema.metadata.tables.values()
        if table.name not in tables
        for column in table.columns
    )
    return frozenset(names) - columns


def missing(connection: sa.Connection, revision: str) -> list[str]:
    """The columns of that revision that the database lacks, sorted."""
    query = _SQLITE if connection.dialect.name == "sqlite" else _POSTGRES
    there = {f"{table}.{column}" for table, column in connection.exec_driver_sql(query)}
    return sorted(expected(revision) - there)


def verify(connection: sa.Connection, revision: str) -> None:
    """Raises StoreForeign if the database lacks columns of its revision."""
    lacking = missing(connection, revision)
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        raise StoreForeign(
            f"the database says that it has revision {revision}, and lacks the columns "
            f"{', '.join(lacking[:_NAMED])}{more}: another build of nanobot made it. Nothing was "
            "changed; open it with the build that made it, or restore a backup"
        )
