"""One bad value stops nobody else: ten chats, a job, a hook and a mailbox are answered.

The quick run has a sample of every table and a few of each other kind, several at once;
`make prove` has all of them, and `python -m tests.poison` prints the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
import pytest_asyncio

from nanobot.store.database import schema
from tests.poison.judging import judged
from tests.poison.others import (
    MOST,
    Case,
    answering,
    answers,
    callers,
    clocks,
    entries,
    files,
    grouped,
    in_logs,
    pushed,
    speak,
    updates,
)
from tests.poison.rows import Cell, batches, cells, expand, spoil
from tests.poison.world import filled

TABLES = [table.name for table in schema.metadata.sorted_tables]
AT_ONCE = 12


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which everything is well, and each table has a row in each state."""
    path = tmp_path_factory.mktemp("poison") / "home"
    await filled(path)
    expand(path)
    return path


async def judge(home: Path, copy: Path, chosen: Sequence[Cell]) -> None:
    """Spoil these at once; should that stop others, find out which does."""

    def poison(copied: Path) -> None:
        for cell in chosen:
            spoil(copied, cell)

    verdict = await judged("", home, copy, poison, speak)
    if verdict.stopped and len(chosen) > 1:
        for cell in chosen:
            await judge(home, copy, [cell])
    assert verdict.stopped == (), (list(map(str, chosen)), verdict.said)


async def judge_case(home: Path, copy: Path, case: Case) -> None:
    verdict = await judged(case.name, home, copy, *case[1:])
    assert verdict.stopped == (), (case.name, verdict.said)


def test_every_column_of_every_table_is_poisoned(home: Path) -> None:
    poisoned = {(cell.table, cell.column) for cell in cells(home)}
    assert poisoned == {
        (table.name, column.name)
        for table in schema.metadata.sorted_tables
        for column in table.columns
    }


async def test_a_home_in_which_nothing_is_bad_is_served(home: Path, tmp_path: Path) -> None:
    assert (await judged("nothing", home, tmp_path / "copy", lambda _: None, speak)).stopped == ()


STOPPED_ONCE = ("prompts.digest = unknown", "prompts.body = text", "outbound[dead].id = huge")


@pytest.mark.parametrize("name", STOPPED_ONCE)
async def test_what_stopped_others_once_stops_nobody(home: Path, tmp_path: Path, name: str) -> None:
    (cell,) = [cell for cell in cells(home) if str(cell) == name]
    await judge(home, tmp_path / "copy", [cell])


async def test_of_each_table_some_bad_values_stop_nobody(home: Path, tmp_path: Path) -> None:
    random, sample = Random(1), list[Cell]()
    for table in TABLES:
        sample += random.sample(cells(home, [table]), 1)
    for batch in batches(sample, 40):
        await judge(home, tmp_path / "copy", batch)


def some(home: Path) -> list[Case]:
    """A few of each kind that is no row."""
    random = Random(2)
    return [
        in_logs(random.sample(entries(), MOST)),
        answering(random.sample(answers(), MOST)),
        pushed(random.sample(updates(), 30)),
        *random.sample(list(files(home)), 2),
        *random.sample(list(clocks()), 1),
        *random.sample(list(callers()), 1),
    ]


async def test_a_few_of_all_else_that_is_bad_stop_nobody(home: Path, tmp_path: Path) -> None:
    for case in some(home):
        await judge_case(home, tmp_path / "copy", case)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("table", TABLES)
async def test_no_bad_value_of_a_table_stops_anybody(
    home: Path, tmp_path: Path, table: str
) -> None:
    for batch in batches(cells(home, [table]), AT_ONCE):
        await judge(home, tmp_path / "copy", batch)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("kind", ["entries", "answers", "updates", "files", "clocks", "callers"])
async def test_nothing_else_that_is_bad_stops_anybody(
    home: Path, tmp_path: Path, kind: str
) -> None:
    cases = {
        "entries": lambda: map(in_logs, grouped(entries(), MOST)),
        "answers": lambda: map(answering, grouped(answers(), MOST)),
        "updates": lambda: map(pushed, grouped(updates(), 40)),
        "files": lambda: files(home),
        "clocks": clocks,
        "callers": callers,
    }[kind]()
    for case in cases:
        await judge_case(home, tmp_path / "copy", case)
