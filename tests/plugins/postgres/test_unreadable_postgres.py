"""A value that cannot be read, in any column of a PostgreSQL, ends no list and no pass.

PostgreSQL keeps the types of its columns, so fewer values are bad there than in a SQLite file.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.store.database import migrate, schema
from tests.store.conftest import Postgres
from tests.store.home import LEASE_SECONDS, Home
from tests.store.test_unreadable import COLUMNS, HEALTHY, Parts, complete_home, failures

FEW = [
    ("inbound", "role"),
    ("outbound", "body"),
    ("runs", "created_at"),
    ("entries", "payload"),
    ("sessions", "lease_until"),
]


def bad_values(column: sa.Column[Any]) -> Iterator[str]:
    """What a column of that type takes and nobody meant, as SQL."""
    if column.nullable:
        yield "NULL"
    if isinstance(column.type, sa.LargeBinary):
        yield from (r"'\xff00'", r"'\x7b5d'", "''", r"'\x7b22223a31653939397d'")
    elif isinstance(column.type, sa.Float):
        yield from ("'NaN'", "'Infinity'", "'-Infinity'", "1e300", "-1e300")
    elif isinstance(column.type, sa.Integer):
        yield from ("9223372036854775807", "-9223372036854775808")
    elif isinstance(column.type, sa.String):
        yield from ("'what nobody knows'", "''", "repeat('9', 100000)", r"E'\u202e\u0001/../'")


@pytest.fixture(scope="module")
def template(postgres: Postgres) -> str:
    """A database with a readable row in each table."""
    url = postgres.empty()
    asyncio.run(_fill(url))
    return url


async def _fill(url: str) -> None:

    def opened() -> PostgresDatabase:
        database = PostgresDatabase(url, workers=2)
        database.run_now(migrate.prepare)
        return database

    home = Home(opened, shared=True)
    await complete_home(home)
    await home.database.close()


def plant(url: str, table: str, column: str, value: str) -> bool:
    """False: the table itself does not take the value."""
    columns = schema.metadata().tables[table].c
    session = next((name for name in ("session_key", "key") if name in columns), "")
    own = table == "sessions" or session == "session_key"
    where = f"WHERE {session} != '{HEALTHY}'" if own else ""
    first = f"ctid = (SELECT ctid FROM {table} {where} LIMIT 1)"
    with psycopg.connect(url) as connection:
        try:
            connection.execute(f'UPDATE {table} SET "{column}" = {value} WHERE {first}'.encode())
        except (psycopg.IntegrityError, psycopg.DataError):
            return False
    return True


async def planted(
    postgres: Postgres, template: str, table: str, column: str, sql: str
) -> list[str]:
    url = postgres.copy(template)
    try:
        if not plant(url, table, column, sql):
            return []
        parts = Parts(PostgresDatabase(url, workers=2), LEASE_SECONDS)
        return await failures(parts, f"{table}.{column} = {sql}")
    finally:
        postgres.drop(url)


@pytest.mark.process
async def test_no_pass_fails_on_a_bad_value_in_a_few_columns(
    postgres: Postgres, template: str
) -> None:
    failed = []
    for table, column in FEW:
        for sql in itertools.islice(bad_values(schema.metadata().tables[table].c[column]), 1, 3):
            failed += await planted(postgres, template, table, column, sql)
    assert failed == []


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("table", sorted({table for table, _ in COLUMNS}))
async def test_no_pass_fails_on_any_bad_value_in_any_column(
    postgres: Postgres, template: str, table: str
) -> None:
    failed = []
    for column in [name for of, name in COLUMNS if of == table]:
        for sql in bad_values(schema.metadata().tables[table].c[column]):
            failed += await planted(postgres, template, table, column, sql)
    assert failed == []
