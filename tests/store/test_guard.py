"""One row that cannot be read stops nobody: it is moved aside and named in the log, also where no
plugin takes care of such rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
import sqlalchemy as sa
from loguru import logger

from nanobot.messages import Address, Role, Sender
from nanobot.session.inbox import Admission
from nanobot.store.database.database import Work
from nanobot.store.quarantine.guard import Guard
from nanobot.store.unit import StoreContext
from tests.store.home import Home, on_sqlite
from tests.store.making import KEY, admit, answered, begun, claim, let_in, said
from tests.store.test_jobs import add, plan
from tests.stored import counts_of, look_through

OTHER = "telegram:2"


class Guarded:
    """A store behind the guard, without any care of what is moved aside."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.writer = StoreContext(home.clock, home.ids, "us", 600.0 if home.shared else None)
        self.guard = Guard(home.database, self.writer)
        self.journal = home.journal(database=self.guard)

    async def aside(self) -> list[tuple[str, str, str]]:
        """The table, the column and the state of each row that was moved aside or repaired."""
        return await self.home.rows("SELECT of_table, of_column, state FROM quarantine ORDER BY id")


@pytest.fixture
def guarded(home: Home) -> Guarded:
    return Guarded(home)


@pytest.fixture
def log() -> Iterator[list[str]]:
    lines: list[str] = []
    sink = logger.add(lambda line: lines.append(str(line)), level="ERROR", format="{message}")
    yield lines
    logger.remove(sink)


def by_owner(session_key: str) -> Admission:
    """A message of an owner, which waits."""
    return msgspec.structs.replace(let_in(said("waits"), session_key), role=Role.OWNER)


async def test_a_row_is_passed_over_and_named_in_the_log_where_nothing_takes_care_of_it(
    guarded: Guarded, log: list[str]
) -> None:
    home, journal = guarded.home, guarded.journal
    await begun(home.doomed(), "broken")
    await admit(journal, by_owner(OTHER))
    await home.execute("UPDATE runs SET kind = 'dream' WHERE id = 'broken'")

    ready = await journal.ready()

    assert [lane.session_key for lane in ready] == [OTHER]
    assert await guarded.aside() == [("runs", "kind", "moved")]
    assert "runs broken cannot be read (kind): it is in the table quarantine now\n" in log
    assert await home.rows("SELECT * FROM outbound") == []  # nobody is told
    assert await home.column("SELECT told FROM quarantine") == [False]


@on_sqlite
@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("token", "x"), ("head_seq", "NULLx"), ("title", b"\xff"), ("shared", 7)),
        ("lease_until", 1e11),
    ],
)
async def test_a_conversation_keeps_its_row(guarded: Guarded, column: str, value: object) -> None:
    home, journal = guarded.home, guarded.journal
    await answered(journal, await begun(journal, "first"), "the answer")
    await home.execute(f"UPDATE sessions SET {column} = :v", v=value)
    await look_through(guarded.guard)
    await admit(journal, said("and now?", key="second"))

    assert (await claim(journal, "second")).run.id == "second"

    (row,) = await guarded.aside()
    assert row == ("sessions", column, "repaired")
    assert (await home.verify(KEY)) > 1


async def test_an_error_that_no_row_explains_is_raised_as_it_is(guarded: Guarded) -> None:
    def fails(_: sa.Connection) -> None:
        raise ValueError("a mistake of ours")

    for _ in range(2):
        with pytest.raises(ValueError, match="a mistake of ours"):
            await guarded.guard.transact(fails)
    assert await guarded.aside() == []


async def test_what_can_be_read_is_left_alone(guarded: Guarded) -> None:
    home, journal = guarded.home, guarded.journal
    await answered(journal, await begun(journal, "first"), "the answer")
    await begun(journal, "live")
    before = await home.everything()

    assert await look_through(guarded.guard) == 0

    assert await home.everything() == before


async def test_status_counts_what_is_in_quarantine(guarded: Guarded) -> None:
    home, journal = guarded.home, guarded.journal
    await admit(journal, said("hello"))
    assert (await counts_of(home.records()).counts()).unreadable == 0
    await home.execute("UPDATE inbound SET role = 'king'")
    assert await look_through(guarded.guard) == 1
    assert (await counts_of(home.records()).counts()).unreadable == 1


async def test_a_person_who_waits_to_be_let_in_is_no_unreadable_row(guarded: Guarded) -> None:
    """Their row has no role yet."""
    pairings = guarded.home.pairings()
    before = await pairings.ask(Address("telegram", "666"), Sender("666", "Eve"))
    assert await look_through(guarded.guard) == 0
    assert await pairings.ask(Address("telegram", "666"), Sender("666", "Eve")) == before


async def test_errors_of_ever_other_texts_are_not_all_looked_into(guarded: Guarded) -> None:
    """Each search reads the store, and somebody may be able to cause such errors."""
    searches: list[str] = []
    real = guarded.home.database.transact

    async def counted(work: Work[object], verb: str = "") -> object:
        searches.append(verb)
        return await real(work, verb)

    def failing(number: int) -> Work[None]:
        def work(_: sa.Connection) -> None:
            raise ValueError(f"error {number}")

        return work

    guarded.home.database.transact = counted  # type: ignore[assignment,method-assign]
    for number in range(12):
        with pytest.raises(ValueError, match="error"):
            await guarded.guard.transact(failing(number))
    before = len(searches)
    for number in range(12, 40):
        with pytest.raises(ValueError, match="error"):
            await guarded.guard.transact(failing(number))
    assert len(searches) - before == 40 - 12  # the failing units alone


@on_sqlite
@pytest.mark.parametrize("column", ["seq", "hash"])
async def test_a_conversation_goes_on_whose_row_and_last_entry_cannot_be_read(
    guarded: Guarded, column: str
) -> None:
    home, journal = guarded.home, guarded.journal
    await answered(journal, await begun(journal, "first"), "the answer")
    await admit(journal, said("waits"), session_key=OTHER)
    last = "(SELECT max(seq) FROM entries)"
    await home.execute(f"UPDATE entries SET {column} = :v WHERE seq = {last}", v=b"\xff\xfe")
    await home.execute("UPDATE sessions SET title = :v WHERE key = :k", v=b"\xff\xfe", k=KEY)
    home.damaged = frozenset({KEY})

    assert await look_through(guarded.guard) == 1
    await admit(journal, said("and now?", key="second"))

    assert (await claim(journal, "second")).run.id == "second"
    assert OTHER in [lane.session_key for lane in await journal.ready()]
    assert ("sessions", "title", "repaired") in await guarded.aside()


@on_sqlite
async def test_a_row_that_cannot_be_moved_aside_keeps_no_other_from_it(
    guarded: Guarded, log: list[str]
) -> None:
    home, journal = guarded.home, guarded.journal
    for name in ("1", "2"):
        await admit(journal, said("waits", key=name), session_key=f"telegram:{name}")
    await home.execute("UPDATE inbound SET body = :v", v=b"\xff\xfe")
    await home.execute(
        "CREATE TRIGGER refuses BEFORE INSERT ON quarantine WHEN NEW.session_key = 'telegram:1' "
        "BEGIN SELECT RAISE(ABORT, 'refused'); END"
    )

    assert await look_through(guarded.guard) == 1

    assert await home.rows("SELECT session_key FROM quarantine") == [("telegram:2",)]
    assert await home.rows("SELECT session_key FROM inbound") == [("telegram:1",)]
    assert any("moving an unreadable row of inbound aside" in line for line in log)


@on_sqlite
async def test_a_file_stays_marked_where_the_time_of_its_mark_cannot_be_read(
    guarded: Guarded,
) -> None:
    """Without its row it would count as trusted."""
    home = guarded.home
    mark = "INSERT INTO tainted_files (kind, name, at) VALUES ('path', 'a.txt', 1e300)"
    await home.execute(mark)
    await guarded.guard._sweeper.all(logs=False)
    assert await guarded.aside() == [("tainted_files", "at", "repaired")]
    assert await home.rows("SELECT name, at FROM tainted_files") == [("a.txt", home.clock.now())]


async def test_a_background_run_is_moved_aside_with_the_request_that_cannot_be_read(
    guarded: Guarded,
) -> None:
    home = guarded.home
    await begun(home.doomed(), "broken")
    await home.execute(
        "INSERT INTO tasks (run_id, key, type, title, input, report, depth, tainted, not_before)"
        " VALUES ('broken', 'k', 'agent', 'tea', :input, 'shout', 1, :tainted, 0)",
        input=b"{}",
        tainted=False,
    )
    await guarded.guard._sweeper.all(logs=False)
    assert await guarded.aside() == [("tasks", "report", "moved")]
    assert await home.rows("SELECT id FROM runs") == []


async def test_a_job_whose_plan_cannot_be_read_stays_in_its_list(guarded: Guarded) -> None:
    """Its owner can see and remove it; what acts on it refuses it."""
    home = guarded.home
    await add(home, plan(home))
    await home.execute("UPDATE jobs SET body = :body", body=b"}{")
    await guarded.guard._sweeper.all(logs=False)
    assert await guarded.aside() == []
    assert await home.column("SELECT name FROM jobs") == ["look"]
