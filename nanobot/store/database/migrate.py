"""Migrates a database to the tables of this version, and checks that it has the columns of its
revision.

A revision is only a number in a table. Without this check, tables that another build made under the
same number would be used until the first statement that needs a missing column, after an upgrade
that cannot be reverted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine.mock import MockConnection

from nanobot.errors import StoreForeign, StoreTooNew
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import DIALECTS, alone, dialect_of

_TABLES = "tables"  # processes that start together migrate one after the other

_VERSION = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


class Revisions(msgspec.Struct, frozen=True):
    """The revisions that a program knows, oldest first, and the folder of Alembic's scripts."""

    revisions: tuple[str, ...]
    folder: Path

    @property
    def head(self) -> str:
        """The revision that this program writes."""
        return self.revisions[-1]


OURS = Revisions(
    tuple(f"{number:04}" for number in range(1, 13)), Path(__file__).parent / "migrations"
)

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


def current(connection: sa.Connection, history: Revisions = OURS) -> str | None:
    """The revision of the database, or None if it is empty. Raises StoreTooNew for a newer
    revision.
    """
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(sa.select(_VERSION.c.version_num))
    if revision is None or revision in history.revisions:
        return revision
    reader = connection.scalar(
        sa.select(schema.meta.c.value).where(schema.meta.c.key == "min_reader")
    )
    if reader is not None and reader.isdigit() and int(reader) <= schema.MIN_READER:
        return history.head
    raise StoreTooNew(
        f"the database has revision {revision}, newer than this nanobot ({history.head}): "
        "update nanobot, or restore the copy made before the update: `nanobot db restore FILE.bak`"
    )


def create(connection: sa.Connection) -> None:
    """Create the tables of this version in an empty database, without loading Alembic (0.3 s, 15
    MB).

    A test compares the result with that of the revisions.
    """
    for statement in _definitions(connection.dialect):
        connection.exec_driver_sql(statement)


@cache
def _definitions(dialect: sa.Dialect) -> tuple[str, ...]:
    """The statements that create the tables and their first rows. They are built once in a process:
    building takes longer than executing.
    """
    statements: list[str] = []

    def note(element: sa.Executable, *_: object) -> None:
        statements.append(str(element.compile(dialect=dialect)))  # type: ignore[attr-defined]

    recorder = MockConnection(dialect, note)
    with DIALECTS[dialect.name].declaring():
        schema.metadata().create_all(recorder, checkfirst=False)
    _VERSION.create(recorder, checkfirst=False)
    for row in (
        sa.insert(_VERSION).values(version_num=OURS.head),
        sa.insert(schema.meta).values(key="min_reader", value=str(schema.MIN_READER)),
    ):
        literal = row.compile(dialect=dialect, compile_kwargs={"literal_binds": True})
        statements.append(str(literal))
    return tuple(statements)


def _complete(connection: sa.Connection) -> None:
    """Create the tables of plugins that were not installed when the database was created."""
    there = set(sa.inspect(connection).get_table_names())
    late = [table for table in schema.of_plugins() if table.name not in there]
    if late:
        with DIALECTS[connection.dialect.name].declaring():
            schema.metadata().create_all(connection, tables=late, checkfirst=False)


def upgrade(connection: sa.Connection, history: Revisions = OURS) -> None:
    """Run the missing revisions."""
    from alembic import command, config  # noqa: PLC0415 - 0.3 s and 15 MB, after an update only

    alone(connection, _TABLES)
    settings = config.Config()
    settings.set_main_option("script_location", str(history.folder).replace("%", "%%"))
    settings.attributes["connection"] = connection
    command.upgrade(settings, history.head)
    connection.execute(sa.delete(schema.meta).where(schema.meta.c.key == "min_reader"))
    reader = {"key": "min_reader", "value": str(schema.MIN_READER)}
    connection.execute(sa.insert(schema.meta), reader)


def verify(connection: Connection, revision: str) -> None:
    """Raises StoreForeign if the database lacks columns of our revision with that number."""
    lacking = missing(connection, revision) if revision in OURS.revisions else []
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        raise StoreForeign(
            f"the database says that it has revision {revision}, and lacks the columns "
            f"{', '.join(lacking[:_NAMED])}{more}: another build of nanobot made it. Nothing was "
            "changed; open it with the build that made it, or restore a backup"
        )


def prepare(connection: sa.Connection, history: Revisions = OURS) -> bool:
    """Create the tables if there are none. Returns True if revisions are missing and `upgrade` is
    due. Raises StoreTooNew, and StoreForeign if the tables do not match their revision.
    """
    alone(connection, _TABLES)
    revision = current(connection, history)
    if revision is None:
        create(connection)
        return False
    if revision == OURS.head:
        _complete(connection)
    verify(connection, revision)
    return revision != history.head
