"""Bringing a database to the tables of this version, with a copy of it kept beforehand."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from nanobot.errors import StoreTooNew
from nanobot.store import schema

_REVISIONS = ("0001",)
_VERSION = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.Text))


def current(connection: sa.Connection) -> str | None:
    """The revision of the database; None for an empty one. Raises StoreTooNew for a newer one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(sa.select(_VERSION.c.version_num))
    if found is None or found in _REVISIONS:
        return found
    reader = connection.scalar(
        sa.select(schema.meta.c.value).where(schema.meta.c.key == "min_reader")
    )
    if reader is not None and reader.isdigit() and int(reader) <= schema.MIN_READER:
        return schema.HEAD
    raise StoreTooNew(
        f"the database has revision {found}, newer than this nanobot ({schema.HEAD}): "
        "update nanobot, or restore the .bak copy made before the update"
    )


def create(connection: sa.Connection) -> None:
    """The tables of this version in an empty database, without loading Alembic (0.3 s, 15 MB).

    A test compares the outcome with that of the revisions.
    """
    schema.metadata.create_all(connection)
    connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
    connection.execute(sa.insert(_VERSION), {"version_num": schema.HEAD})
    _note_reader(connection)


def upgrade(connection: sa.Connection) -> None:
    """Run the revisions that are missing."""
    from alembic import command  # noqa: PLC0415 - 0.3 s and 15 MB, needed after an update only
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    _note_reader(connection)


def _note_reader(connection: sa.Connection) -> None:
    connection.execute(sa.delete(schema.meta).where(schema.meta.c.key == "min_reader"))
    connection.execute(
        sa.insert(schema.meta), {"key": "min_reader", "value": str(schema.MIN_READER)}
    )


def prepare(connection: sa.Connection) -> bool:
    """Create the tables if there are none. True: revisions are missing, `upgrade` is due."""
    if connection.dialect.name == "postgresql":
        # Two processes starting together must not both create the tables.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7306103)")
    found = current(connection)
    if found is None:
        create(connection)
        return False
    return found != schema.HEAD
