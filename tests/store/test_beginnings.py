"""Keys that begin with a text, in every database."""

from __future__ import annotations

import re

import pytest
import sqlalchemy as sa

from nanobot.plugins.common.store.beginnings import begins
from nanobot.plugins.erasure.store.erasing import _below
from nanobot.session.keys import APPROVALS
from nanobot.store.database import schema
from tests.store.home import Home
from tests.store.making import KEY, told

_c = schema.channels
KEYS = ("a:", "a:1", "A:1", "a;1", "ab:1", "b:", "a%:1", "a_:1", "a\\:1", "ä:1")


@pytest.mark.parametrize(
    ("text", "those"),
    [
        ("a:", {"a:", "a:1"}),
        ("a", {"a:", "a:1", "a;1", "ab:1", "a%:1", "a_:1", "a\\:1"}),
        ("a%", {"a%:1"}),
        ("a_:", {"a_:1"}),
        ("a\\", {"a\\:1"}),
        ("ä", {"ä:1"}),
        ("c", set()),
    ],
)
async def test_it_is_the_keys_that_begin_so_and_no_others(
    home: Home, text: str, those: set[str]
) -> None:
    def named(connection: sa.Connection) -> set[str]:
        connection.execute(sa.insert(_c), [{"name": key} for key in KEYS])
        here = sa.select(_c.c.name).where(_c.c.name.in_(KEYS), begins(_c.c.name, text))
        return set(connection.scalars(here))

    assert await home.do(named) == those


async def test_sqlite_finds_them_by_the_index(new_home: Home) -> None:
    def plan(connection: sa.Connection) -> list[str]:
        query = sa.select(_c.c.name).where(begins(_c.c.name, "a:"))
        sql = query.compile(connection, compile_kwargs={"literal_binds": True})
        return [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}")]

    (step,) = await new_home.do(plan)
    assert re.match(r"SEARCH channels USING .*INDEX \w+ \(name>\? AND name<\?\)", step)


async def test_an_approval_is_asked_for_by_its_own_questions_only(home: Home) -> None:
    """Not by those of another, whose number begins like its own: erasing would empty these."""
    for number in (1, 10):
        key = f"{APPROVALS.of(number)}:question"
        await home.journal().post(KEY, told("May I?", key))
    asked = sa.select(schema.outbound.c.key).where(_below(APPROVALS.of(1)))
    assert await home.do(lambda c: list(c.scalars(asked))) == [f"{APPROVALS.of(1)}:question"]
