"""Commands that take longer: their messages are on disk, and each is answered once."""

from __future__ import annotations

import pytest

from nanobot.session.inbox import BegunCommand
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import (
    CHAT,
    KEY,
    admit,
    begun,
    following,
    performing,
    said,
    stop_order,
    told,
)

DONE = told("done", "of the command")


async def test_a_command_waits_for_its_answer_across_a_restart(home: Home) -> None:
    (admitted,) = await admit(home.journal(), performing())
    await home.reopen()
    journal = home.journal()
    left = BegunCommand(admitted.inbound_id, performing().message)
    assert await journal.begun_commands("telegram") == [left]
    assert await journal.begun_commands("discord") == []
    assert await journal.performed(admitted.inbound_id, DONE)
    assert await journal.begun_commands("telegram") == []
    assert (await following(journal)).message == DONE


async def test_it_is_answered_once(journal: SqlJournal) -> None:
    (admitted,) = await admit(journal, performing())
    assert await journal.performed(admitted.inbound_id, None)
    assert not await journal.performed(admitted.inbound_id, DONE)
    assert await journal.next_outbound(CHAT) is None


async def test_the_platform_may_bring_it_again(journal: SqlJournal) -> None:
    await admit(journal, performing())
    (again,) = await admit(journal, performing())
    assert not again.fresh
    assert len(await journal.begun_commands("telegram")) == 1


@pytest.mark.parametrize("before", [True, False])
async def test_no_run_takes_it_and_none_waits_for_it(before: bool, journal: SqlJournal) -> None:
    if before:
        await admit(journal, performing())
        assert await journal.ready() == []
        assert await journal.claim(KEY, "r0", "UTC") is None
    claimed = await begun(journal, "r1")
    (admitted,) = await admit(journal, performing("/another"))
    assert await journal.take_pending(claimed.lane, claimed.run, "UTC") == ()
    assert await journal.performed(admitted.inbound_id, DONE)


async def test_an_order_to_stop_runs_leaves_it(journal: SqlJournal) -> None:
    (admitted,) = await admit(journal, performing())
    await admit(journal, said("waits"))
    await admit(journal, stop_order(everyone=True))
    assert await journal.performed(admitted.inbound_id, DONE)
