"""A store with all tables and nothing in them, made once in each process of tests: most gateways
under test begin with one, and creating the tables takes longer than the rest of their start."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import sqlalchemy as sa

from nanobot.plugins.common.plugin_revisions import plugin_revisions
from nanobot.seam.installed import installed
from nanobot.store.database import migrate
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.plugin_tables import upgrade


def with_empty_store(home: Path) -> None:
    """Give a home the store that its first start would make, unless it has one."""
    file = home / "state.db"
    if not file.exists():
        file.write_bytes(_empty())


@cache
def _empty() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "state.db"
        database = SqliteDatabase(file)
        database.run_now(create_tables)
        database.shut()
        return file.read_bytes()


def create_tables(connection: sa.Connection) -> None:
    """Create the tables of the core and of the built-in plugins."""
    migrate.prepare(connection)
    for name, revisions in plugin_revisions().items():
        if not installed().found[name].package:
            upgrade(connection, name, revisions)
