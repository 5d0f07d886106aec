"""A row with an absurd id, which another program wrote, gives no new row an absurd one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from nanobot.errors import StoreCorrupt
from nanobot.plugins.common.store.at_rest import at_rest
from nanobot.plugins.postgres.store.declared import is_numbered
from nanobot.plugins.postgres.store.moving import migrate_to
from nanobot.store.database import migrate, schema
from nanobot.store.database.strict_types import LARGEST_INTEGER
from tests.store.filling import complete, fill
from tests.store.home import Home, in_memory

HUGE = 2**63 - 1
USED_ONCE = ("memories", "quarantine")
COUNTED = [
    table
    for table in schema.metadata().sorted_tables
    if [column for column in table.primary_key if column.autoincrement is True]
]


def test_every_table_that_a_database_would_number_has_ids_of_ours() -> None:
    assert [table.name for table in COUNTED if not is_numbered(table.c.id)] == []
    assert len(COUNTED) > 10


@in_memory
@pytest.mark.parametrize("table", COUNTED, ids=str)
async def test_the_next_id_follows_the_largest_of_a_program(home: Home, table: sa.Table) -> None:
    await fill(home.journal(), home.eraser())
    await home.do(complete)

    def used(connection: sa.Connection) -> int:
        """What an earlier test has counted up to in a table whose ids are used once."""
        query = "SELECT max(seq) FROM sqlite_sequence WHERE name = ? AND seq <= ?"
        return connection.exec_driver_sql(query, (table.name, LARGEST_INTEGER)).scalar() or 0

    def planted(connection: sa.Connection) -> tuple[int, int]:
        row = connection.execute(sa.select(table).order_by(table.c.id)).mappings().first()
        assert row is not None
        last = max(connection.scalar(sa.select(sa.func.max(table.c.id))) or 0, used(connection))
        absurd = sa.update(table).where(table.c.id == row["id"]).values(id=HUGE)
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        connection.execute(absurd)
        again = {name: _another(value) for name, value in row.items() if name != "id"}
        result = connection.execute(sa.insert(table).values(again))
        assert result.inserted_primary_key is not None
        return last, result.inserted_primary_key[0]

    last, following = await home.do(planted)
    assert 1 <= following <= last + 1
    assert following <= LARGEST_INTEGER


def _another(value: Any) -> Any:
    return f"{value}x" if isinstance(value, str) else value


@in_memory
@pytest.mark.parametrize("table", [each for each in COUNTED if each.name in USED_ONCE], ids=str)
async def test_of_these_no_id_is_used_again(home: Home, table: sa.Table) -> None:
    await fill(home.journal(), home.eraser())
    await home.do(complete)

    def removed(connection: sa.Connection) -> tuple[int, int]:
        row = connection.execute(sa.select(table).order_by(table.c.id.desc())).mappings().first()
        assert row is not None
        connection.execute(sa.delete(table))
        again = {name: value for name, value in row.items() if name != "id"}
        result = connection.execute(sa.insert(table).values(again))
        assert result.inserted_primary_key is not None
        return row["id"], result.inserted_primary_key[0]

    last, following = await home.do(removed)
    assert following > last


def test_a_store_with_such_a_row_is_not_moved_and_the_row_is_named(tmp_path: Path) -> None:
    source = f"sqlite:///{tmp_path / 'a.db'}"
    values = {"id": HUGE, "channel": "telegram", "platform_id": "1", "chat_id": "1"}
    with at_rest(source) as database:
        database.run_now(migrate.prepare)
        database.run_now(lambda c: c.execute(sa.insert(schema.moved_chats).inline(), values))
    with pytest.raises(StoreCorrupt, match=r"moved_chats .*start nanobot once"):
        migrate_to(source, f"sqlite:///{tmp_path / 'b.db'}")


def test_a_store_moves_without_an_absurd_counter(tmp_path: Path) -> None:
    source, target = (f"sqlite:///{tmp_path / name}" for name in ("a.db", "b.db"))
    absurd = f"INSERT INTO sqlite_sequence (name, seq) VALUES ('memories', {HUGE - 1})"
    counter = "SELECT seq FROM sqlite_sequence WHERE name = 'memories'"
    with at_rest(source) as database:
        database.run_now(migrate.prepare)
        database.run_now(lambda connection: connection.exec_driver_sql(absurd).close())
    migrate_to(source, target)
    with at_rest(target) as database:
        seq = database.run_now(lambda connection: connection.exec_driver_sql(counter).scalar())
    assert (seq or 0) <= LARGEST_INTEGER
