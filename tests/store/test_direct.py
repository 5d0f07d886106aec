"""Messages that programs take themselves, or ask with terms of their own."""

from __future__ import annotations

import msgspec
import pytest

from nanobot.errors import Fenced
from nanobot.messages import InboundMessage, Origin, OutboundMessage, RunOptions
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import CHAT, KEY, admit, said
from tests.stored import consuming, requested

ABORTED = Ending(state=RunState.ABORTED, error="aborted")


def asked(run_id: str) -> InboundMessage:
    """A message that brings terms for its run."""
    message = said(run_id, origin=Origin.API)
    return msgspec.structs.replace(message, options=RunOptions(run_id=run_id, direct=True))


async def answer(journal: SqlJournal, text: str) -> None:
    """Claim the lane's run and finish it with an answer that its caller has."""
    claimed = await journal.claim(KEY, "made-up", "UTC")
    assert claimed is not None
    run = claimed.run
    owed = OutboundMessage(address=CHAT, text=text, key=f"{run.id}:0", direct=True)
    await journal.finish(claimed.lane, run, Ending(state=RunState.COMPLETED, outbound=(owed,)))


async def test_the_oldest_message_is_taken_and_its_lane_with_it(journal: SqlJournal) -> None:
    await admit(journal, said("a"), said("b"))
    await admit(journal, said("c"), session_key="other")
    first = await consuming(journal).take_inbound(None)
    assert first is not None
    assert first.message.text == "a"
    assert await journal.claim(KEY, "r1", "UTC") is None
    second = await consuming(journal).take_inbound(None)
    assert second is not None
    assert second.message.text == "c"
    assert await consuming(journal).take_inbound(None) is None
    third = await consuming(journal).take_inbound(first)
    assert third is not None
    assert third.message.text == "b"


async def test_a_message_whose_taker_died_is_taken_again(home: Home) -> None:
    await admit(home.journal(), said("a"))
    dead = home.doomed()
    lost = await consuming(dead).take_inbound(None)
    again = await consuming(home.journal()).take_inbound(None)
    assert lost is not None
    assert again is not None
    assert (lost.message, lost.inbound_id) == (again.message, again.inbound_id)
    with pytest.raises(Fenced):
        await consuming(dead).take_inbound(lost)


async def test_a_session_with_a_live_run_keeps_its_messages(journal: SqlJournal) -> None:
    await admit(journal, said("a"))
    claimed = await journal.claim(KEY, "r1", "UTC")
    assert claimed is not None
    await admit(journal, said("b"))
    await journal.release(claimed.lane, claimed.run)
    assert await consuming(journal).take_inbound(None) is None


async def test_a_run_has_the_id_and_the_terms_that_its_message_brought(journal: SqlJournal) -> None:
    await admit(journal, asked("mine"))
    claimed = await journal.claim(KEY, "made-up", "UTC")
    assert claimed is not None
    assert claimed.run.id == "mine"
    assert getattr(claimed.entries[0].body, "options", None) == RunOptions(
        run_id="mine", direct=True
    )


async def test_an_outcome_is_known_from_the_first_moment_to_the_last(journal: SqlJournal) -> None:
    assert await requested(journal).outcome(CHAT, "mine") is None
    await admit(journal, asked("mine"))
    waiting = await requested(journal).outcome(CHAT, "mine")
    assert waiting is not None
    assert (waiting.state, waiting.session_key) == (RunState.QUEUED, KEY)
    await answer(journal, "done")
    done = await requested(journal).outcome(CHAT, "mine")
    assert done is not None
    assert (done.state, done.text) == (RunState.COMPLETED, "done")


async def test_what_its_caller_has_is_owed_to_nobody(journal: SqlJournal) -> None:
    await admit(journal, asked("mine"))
    await answer(journal, "done")
    assert await consuming(journal).oldest_owed() is None
    assert await journal.next_outbound(CHAT) is None


async def test_an_abort_takes_a_waiting_message_back_and_no_other(journal: SqlJournal) -> None:
    await admit(journal, asked("mine"), asked("other"))
    assert await requested(journal).abort(CHAT, "mine", ABORTED) is None
    gone = await requested(journal).outcome(CHAT, "mine")
    assert gone is not None
    assert gone.state is RunState.ABORTED
    claimed = await journal.claim(KEY, "made-up", "UTC")
    assert claimed is not None
    assert claimed.run.id == "other"


async def test_an_abort_ends_a_run_and_fences_its_driver_off(journal: SqlJournal) -> None:
    await admit(journal, asked("mine"))
    claimed = await journal.claim(KEY, "made-up", "UTC")
    assert claimed is not None
    ended = await requested(journal).abort(CHAT, "mine", ABORTED)
    assert ended is not None
    assert ended.id == "mine"
    with pytest.raises(Fenced):
        await journal.finish(claimed.lane, claimed.run, Ending(state=RunState.COMPLETED))
    assert await requested(journal).abort(CHAT, "mine", ABORTED) is None


async def test_an_abort_of_what_nobody_asked_for_does_nothing(home: Home) -> None:
    assert await requested(home.journal()).abort(CHAT, "unknown", ABORTED) is None
