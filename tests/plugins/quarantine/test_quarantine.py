"""One row that cannot be read stops nobody: it goes into quarantine, and comes back repaired."""

from __future__ import annotations

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.errors import UsageError
from nanobot.messages import Address, Role
from nanobot.plugins.quarantine.store import rows
from nanobot.plugins.quarantine.store.telling import Telling
from nanobot.session.entries import ErasedEntry
from nanobot.session.inbox import Admission
from nanobot.session.quarantine import Quarantined
from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.quarantine.guard import Guard
from nanobot.store.unit import StoreContext, Unit
from tests.store.home import Home
from tests.store.making import KEY, admit, answered, begun, claim, let_in, said
from tests.stored import look_through

OTHER, OWNERS = "telegram:2", Address("telegram", "7")


class Guarded:
    """A store behind the guard, with what it keeps aside."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.writer = StoreContext(home.clock, home.ids, "us", 600.0 if home.shared else None)
        self.guard = Guard(home.database, self.writer)
        self.journal = home.journal(database=self.guard)
        self.told: list[Address] = []
        self.guard.care = Telling()
        self.guard.owed.append(self.told.append)

    async def listed(self) -> list[Quarantined]:
        return await self.home.do(rows.listed)

    async def restore(self, identity: int, **values: str) -> Quarantined:
        return await self.guard.transact(
            lambda c: rows.restore(Unit(c, self.writer), identity, values)
        )


def by_owner(session_key: str) -> Admission:
    """A message of an owner, which waits."""
    return msgspec.structs.replace(let_in(said("waits"), session_key), role=Role.OWNER)


@pytest.fixture
def guarded(home: Home) -> Guarded:
    return Guarded(home)


async def test_a_run_that_cannot_be_read_stops_no_other(guarded: Guarded) -> None:
    home, journal = guarded.home, guarded.journal
    await begun(home.doomed(), "broken")
    await admit(journal, by_owner(OTHER))
    await home.execute("UPDATE runs SET kind = 'dream' WHERE id = 'broken'")

    ready = await journal.ready()

    assert [lane.session_key for lane in ready] == [OTHER]
    (row,) = await guarded.listed()
    assert (row.table, row.key, row.column, row.state) == ("runs", "broken", "kind", "moved")
    assert "dream" in row.reason
    texts = await home.column("SELECT body FROM outbound ORDER BY id")
    assert b"Please ask again" in texts[0]  # the chat that waits is told
    assert b"runs broken: kind" in texts[1]  # and its owner, who is the same person here
    assert OWNERS in guarded.told


async def test_it_comes_back_repaired_and_goes_on(guarded: Guarded) -> None:
    home, journal = guarded.home, guarded.journal
    await begun(home.doomed(), "broken")
    await home.execute("UPDATE runs SET kind = 'dream' WHERE id = 'broken'")
    assert await journal.ready() == []
    (row,) = await guarded.listed()
    assert row.with_it == 1  # the message that it answers

    with pytest.raises(UsageError, match="still cannot be read: kind"):
        await guarded.restore(row.id)
    with pytest.raises(UsageError, match="has no column mood"):
        await guarded.restore(row.id, mood="good")
    await guarded.restore(row.id, kind="chat")

    journal.let_go((await journal.claim(KEY, "unused", "UTC")).lane)  # type: ignore[union-attr]
    assert await home.column("SELECT state FROM runs") == [RunState.PREPARING]
    assert await home.column("SELECT state FROM inbound") == ["taken"]
    assert await guarded.listed() == []
    with pytest.raises(UsageError, match="put back already"):
        await guarded.restore(row.id)


async def test_a_conversation_goes_on_without_an_entry_that_cannot_be_read(
    guarded: Guarded,
) -> None:
    home, journal = guarded.home, guarded.journal
    claimed = await begun(journal, "first")
    await answered(journal, claimed, "the answer")
    (before,) = await home.column("SELECT payload FROM entries WHERE kind = 'reply'")
    await home.execute("UPDATE entries SET payload = :p WHERE kind = 'reply'", p=b'{"type":"\xff')
    await admit(journal, said("and now?", key="second"))

    again = await claim(journal, "second")

    assert [entry.body for entry in again.entries if entry.body is None] == [None]
    erased = [e.body for e in again.entries if isinstance(e.body, ErasedEntry)]
    assert erased
    assert erased[0].tainted  # nobody knows what it held
    (row,) = await guarded.listed()
    assert (row.table, row.column, row.state) == ("entries", "payload", "repaired")
    await home.verify(KEY)  # the log says itself what is empty
    with pytest.raises(UsageError, match="still cannot be read"):
        await guarded.restore(row.id)
    await guarded.restore(row.id, payload=before.decode())
    await home.verify(KEY)


async def test_a_run_whose_own_log_has_a_hole_ends_with_a_notice(guarded: Guarded) -> None:
    home, journal = guarded.home, guarded.journal
    await begun(home.doomed(), "broken")
    await home.execute("UPDATE entries SET payload = :p WHERE kind = 'user'", p=b"{}")
    await admit(journal, said("waits"), session_key=OTHER)

    assert await journal.claim(KEY, "unused", "UTC") is None

    assert [lane.session_key for lane in await journal.ready()] == [OTHER]
    assert b"Please ask again" in (await home.column("SELECT body FROM outbound"))[0]
    await admit(journal, said("again", key="again"))
    assert (await claim(journal, "next")).run.id == "next"


async def test_a_place_that_is_taken_is_not_overwritten(guarded: Guarded) -> None:
    home, journal = guarded.home, guarded.journal
    await admit(journal, said("once", key="once"))
    await home.execute("UPDATE inbound SET role = 'king'")
    assert await journal.claim(KEY, "unused", "UTC") is None
    await admit(journal, said("once", key="once"))  # the platform delivers it again
    (row,) = await guarded.listed()

    with pytest.raises(UsageError, match="has another row with its key"):
        await guarded.restore(row.id, role=Role.OWNER)


async def test_owners_are_told_once(guarded: Guarded) -> None:
    home, journal = guarded.home, guarded.journal
    await admit(journal, by_owner(KEY))
    await home.execute(
        "INSERT INTO approval_rules (session_key, tool, subject, tainted, by, created_at, label) "
        "VALUES ('k', 't', 's', :no, 'ann', 1e300, 'o1')",
        no=False,
    )
    assert await look_through(guarded.guard) == 1
    assert await look_through(guarded.guard) == 0
    query = sa.select(sa.func.count()).select_from(schema.outbound)
    assert await home.do(lambda c: c.scalar(query)) == 1


async def test_people_are_told_later_of_what_was_moved_aside_before(guarded: Guarded) -> None:
    """The process ended in between, or the plugin was off."""
    home, journal = guarded.home, guarded.journal
    care, guarded.guard.care = guarded.guard.care, None
    await begun(home.doomed(), "broken")
    await admit(journal, by_owner(OTHER))
    await home.execute("UPDATE runs SET kind = 'dream' WHERE id = 'broken'")
    await journal.ready()
    assert await home.column("SELECT body FROM outbound") == []

    guarded.guard.care = care
    for _ in range(2):
        assert await look_through(guarded.guard) == 0

    texts = await home.column("SELECT body FROM outbound ORDER BY id")
    assert len(texts) == 2
    assert b"Please ask again" in texts[0]
    assert b"runs broken: kind" in texts[1]
    assert OWNERS in guarded.told


async def test_a_row_whose_content_is_damaged_too_keeps_no_other_from_being_told(
    guarded: Guarded,
) -> None:
    home, journal = guarded.home, guarded.journal
    await begun(home.doomed(), "broken")
    await admit(journal, by_owner(OTHER))
    await home.execute(
        "INSERT INTO quarantine (of_table, row_key, session_key, of_column, reason, content, "
        "state, at, told) VALUES ('runs', 'r', '', 'kind', 'w', :c, 'moved', 1.0, :no)",
        c=b'[{"table": "runs", "columns": {}}]',
        no=False,
    )
    await home.execute("UPDATE runs SET kind = 'dream' WHERE id = 'broken'")
    await journal.ready()
    texts = await home.column("SELECT body FROM outbound ORDER BY id")
    assert b"Please ask again" in texts[0]
    assert b"2 rows could not be read" in texts[1]
