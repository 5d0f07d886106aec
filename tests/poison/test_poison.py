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
from tests.poison import peers
from tests.poison.judging import Case, Place, judged
from tests.poison.others import KINDS, some
from tests.poison.rows import Cell, batches, cells, expand, speak, spoiled
from tests.poison.world import filled

TABLES = [table.name for table in schema.metadata().sorted_tables]
OF_NO_CHAT = [
    table.name
    for table in schema.metadata().sorted_tables
    if not {"session_key", "chat_id", "state", "status"} & {*table.columns.keys()}
    if table.name != "sessions"
]
"""They have a row or two that concern no chat: values in several of them are tried at once."""
AT_ONCE = 12


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which everything is well, and each table has a row in each state."""
    path = tmp_path_factory.mktemp("poison") / "home"
    await filled(path)
    expand(path)
    return path


@pytest.fixture
def place(home: Path, tmp_path: Path) -> Place:
    return Place(home, tmp_path / "copy")


async def judge(place: Place, chosen: Sequence[Cell], *, running: bool = False) -> None:
    """Spoil these at once; should that stop others, find out which does."""
    verdict = await judged(spoiled(chosen, running=running), place)
    if verdict.stopped and len(chosen) > 1:
        for cell in chosen:
            await judge(place, [cell], running=running)
    assert verdict.stopped == (), (verdict.case, verdict.said)


async def judge_case(place: Place, case: Case) -> None:
    verdict = await judged(case, place)
    assert verdict.stopped == (), (case.name, verdict.said)


def test_every_column_of_every_table_is_poisoned(home: Path) -> None:
    poisoned = {(cell.table, cell.column) for cell in cells(home)}
    assert poisoned == {
        (table.name, column.name)
        for table in schema.metadata().sorted_tables
        for column in table.columns
    }


async def test_a_home_in_which_nothing_is_bad_is_served(place: Place) -> None:
    verdict = await judged(Case("nothing", meanwhile=speak), place)
    assert (verdict.stopped, verdict.quarantined) == ((), frozenset()), verdict.said


STOPPED_ONCE = ("prompts.digest = unknown", "prompts.body = text", "outbound[dead].id = huge")


@pytest.mark.parametrize("name", STOPPED_ONCE)
async def test_what_stopped_others_once_stops_nobody(place: Place, name: str) -> None:
    (cell,) = [cell for cell in cells(place.source) if str(cell) == name]
    await judge(place, [cell])


IN_USE = ["sessions", "entries", "runs", "inbound", "outbound", "approvals", "jobs"]


async def test_bad_values_stop_nobody_where_no_plugin_takes_care_of_them(place: Place) -> None:
    random = Random(2)
    sample = []
    for table in IN_USE:
        unreadable = [c for c in cells(place.source, [table]) if c.what == "unreadable"]
        sample.append(random.choice(unreadable))
    for batch in batches(sample, 40):
        verdict = await judged(spoiled(batch)._replace(off="quarantine"), place)
        assert verdict.stopped == (), (verdict.case, verdict.said)
        assert any("in the table quarantine now" in each for each in verdict.said), verdict.said


async def test_of_each_table_some_bad_values_stop_nobody(place: Place) -> None:
    random, sample = Random(1), list[Cell]()
    for table in TABLES:
        sample += random.sample(cells(place.source, [table]), 1)
    for number, batch in enumerate(batches(sample, 40)):
        await judge(place, batch, running=bool(number % 2))


async def test_a_few_of_all_else_that_is_bad_stop_nobody(place: Place) -> None:
    for case in some(place.source):
        await judge_case(place, case)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("running", [False, True], ids=["before", "running"])
@pytest.mark.parametrize(
    "tables",
    [OF_NO_CHAT, *([table] for table in TABLES if table not in OF_NO_CHAT)],
    ids=lambda tables: tables[0] if len(tables) == 1 else "of no chat",
)
async def test_no_bad_value_of_a_table_stops_anybody(
    place: Place, tables: list[str], running: bool
) -> None:
    for batch in batches(cells(place.source, tables), AT_ONCE):
        await judge(place, batch, running=running)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_else_that_is_bad_stops_anybody(place: Place, kind: str) -> None:
    for case in KINDS[kind](place.source):
        await judge_case(place, case)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
async def test_nothing_that_another_process_says_or_writes_stops_anybody(tmp_path: Path) -> None:
    with peers.server(tmp_path / "pg") as server:
        shared = await peers.shared(server, tmp_path)
        for case in peers.cases():
            await judge_case(shared, case)
