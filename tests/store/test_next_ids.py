"""A row with an absurd id, which another program wrote, gives no new row an absurd one."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from nanobot.store.database import schema
from nanobot.store.database.tables import LARGEST_ID, is_numbered
from tests.store.filling import complete, fill
from tests.store.home import Home, in_memory

HUGE = 2**63 - 1
COUNTED = [
    table
    for table in schema.metadata.sorted_tables
    if [column for column in table.primary_key if column.autoincrement is True]
]
NUMBERED = [table for table in COUNTED if is_numbered(table.c.id)]


def test_every_table_that_sqlite_would_number_has_ids_of_ours_or_uses_none_twice() -> None:
    used_once = [
        table.name for table in COUNTED if table.dialect_options["sqlite"]["autoincrement"]
    ]
    assert sorted(used_once) == ["memories", "quarantine"]
    assert {*NUMBERED, *(schema.metadata.tables[name] for name in used_once)} == {*COUNTED}
    assert len(NUMBERED) > 8


@in_memory
@pytest.mark.parametrize("table", NUMBERED, ids=str)
async def test_the_next_id_follows_the_largest_of_a_program(home: Home, table: sa.Table) -> None:
    await fill(home.journal(), home.eraser())
    await home.do(complete)

    def planted(connection: sa.Connection) -> tuple[int, int]:
        row = connection.execute(sa.select(table).order_by(table.c.id)).mappings().first()
        assert row is not None
        last = connection.scalar(sa.select(sa.func.max(table.c.id))) or 0
        absurd = sa.update(table).where(table.c.id == row["id"]).values(id=HUGE)
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        connection.execute(absurd)
        again = {name: _another(value) for name, value in row.items() if name != "id"}
        result = connection.execute(sa.insert(table).values(again))
        assert result.inserted_primary_key is not None
        return last, result.inserted_primary_key[0]

    last, following = await home.do(planted)
    assert 1 <= following <= last + 1
    assert following <= LARGEST_ID


def _another(value: Any) -> Any:
    return f"{value}x" if isinstance(value, str) else value
