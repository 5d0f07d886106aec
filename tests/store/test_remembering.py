"""How far a session is in memory, on every store."""

from __future__ import annotations

import msgspec

from nanobot.messages import Origin
from nanobot.plugins.memory.store.remembering import SqlRemembering
from nanobot.session.auxiliary import NoReservation
from nanobot.session.entries import RememberEntry
from nanobot.store.unit import StoreContext
from tests.store.home import Home
from tests.store.making import KEY, admit, answered, approval, claim, said
from tests.stored import due_of


async def test_a_session_is_due_once_it_is_quiet_and_done_once_it_is_remembered(
    home: Home,
) -> None:
    store = SqlRemembering(home.database, StoreContext(home.clock, home.ids, "archivist"))
    journal = home.journal()
    await admit(journal, said("hello"))
    home.clock.advance(61)
    assert await due_of(store) == []
    claimed = await claim(journal)
    home.clock.advance(61)
    assert await due_of(store) == []
    await answered(journal, claimed, "hi")
    assert await due_of(store) == []
    home.clock.advance(61)
    (due,) = await due_of(store)
    exchanges = await store.exchanges(due)
    assert (due.session_key, due.head) == (KEY, len(exchanges.entries))
    assert exchanges.spoke == frozenset()  # a person asked: it is worth remembering as it is
    entry = RememberEntry(text="they met", first=1, upto=due.head)
    assert await store.record(due, claimed.run.id, entry, NoReservation(0)) == entry
    other = RememberEntry(text="twice", first=1, upto=due.head)
    assert await store.record(due, claimed.run.id, other, NoReservation(0)) == entry
    await store.done(due, due.head)
    assert await store.record(due, claimed.run.id, other, NoReservation(0)) is None
    (rest,) = await due_of(store)
    await store.done(rest, rest.head)
    assert await due_of(store) == []


async def test_of_runs_that_no_person_started_it_is_known_which_sent_a_message(home: Home) -> None:
    store = SqlRemembering(home.database, StoreContext(home.clock, home.ids, "archivist"))
    journal = home.journal()
    await admit(journal, said("the time has come", origin=Origin.CRON))
    claimed = await claim(journal)
    await answered(journal, claimed, "it has")
    home.clock.advance(61)
    (due,) = await due_of(store)
    assert (await store.exchanges(due)).spoke == frozenset([claimed.run.id])


async def test_a_run_that_asked_a_person_spoke_to_them(home: Home) -> None:
    store = SqlRemembering(home.database, StoreContext(home.clock, home.ids, "archivist"))
    journal = home.journal()
    await admit(journal, said("the time has come", origin=Origin.CRON))
    claimed = await claim(journal)
    await answered(journal, claimed)
    await home.execute(
        "INSERT INTO approvals (id, session_key, run_id, state, body)"
        " VALUES (1, :session, :run, 'denied', :body)",
        session=KEY,
        run=claimed.run.id,
        body=msgspec.json.encode(approval()),
    )
    home.clock.advance(61)
    (due,) = await due_of(store)
    assert (await store.exchanges(due)).spoke == frozenset([claimed.run.id])
