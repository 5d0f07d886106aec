"""The verbs of a run: fenced, along the one table of states, each of them whole or not at all."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

import pytest

from nanobot.errors import Fenced
from nanobot.ports import OutboundPart
from nanobot.providers.base import Usage
from nanobot.session.entries import FailedEntry
from nanobot.session.journal import Journal
from nanobot.session.runs import Claim, Ending, PromptSnapshot, RunUsage
from nanobot.session.states import LIVE, TRANSITIONS, RunKind, RunState
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import (
    BEN,
    KEY,
    PROMPT,
    RESULT,
    STARTED,
    admit,
    answered,
    approval,
    aside,
    asked,
    begun,
    call,
    claim,
    ending,
    following,
    prompt,
    reply,
    said,
    stop_order,
)

Verb = Callable[[Journal, Claim], Awaitable[object]]

LANE_VERBS: dict[str, Verb] = {
    "take_pending": lambda j, c: j.take_pending(c.lane, c.run, "UTC"),
    "start_model": lambda j, c: j.start_model(c.lane, c.run, [prompt(), call()], PROMPT),
    "start_model with results": lambda j, c: j.start_model(c.lane, c.run, [RESULT, call(2)], None),
    "start_model with a reply": lambda j, c: j.start_model(
        c.lane, c.run, [reply(), RESULT, call(2)], None
    ),
    "start_retry": lambda j, c: j.start_retry(c.lane, c.run, Usage()),
    "start_auxiliary": lambda j, c: j.start_auxiliary(c.lane, c.run, aside()),
    "record_reply": lambda j, c: j.record_reply(c.lane, c.run, reply()),
    "record_reply with a start": lambda j, c: j.record_reply(c.lane, c.run, reply(), STARTED),
    "start_tool": lambda j, c: j.start_tool(c.lane, c.run, STARTED),
    "record_result": lambda j, c: j.record_result(c.lane, c.run, [RESULT]),
    "park": lambda j, c: j.park(c.lane, c.run, approval()),
    "finish": lambda j, c: j.finish(c.lane, c.run, ending("late", run_id="late")),
    "finish_sending": lambda j, c: j.finish_sending(
        c.lane, c.run, ending("late", run_id="late"), [OutboundPart(text="late")]
    ),
    "release": lambda j, c: j.release(c.lane, c.run),
}
every_lane_verb = pytest.mark.parametrize("verb", LANE_VERBS)


def ends(state: RunState) -> Verb:
    """The verb that ends a run in this state."""
    return lambda j, c: j.finish(c.lane, c.run, ending("x", run_id=c.run.id, state=state))


MOVES: dict[RunState, Verb] = {
    RunState.MODEL_RUNNING: LANE_VERBS["start_model"],
    RunState.TOOL_RUNNING: LANE_VERBS["record_reply"],
    RunState.COMPLETED: ends(RunState.COMPLETED),
    RunState.FAILED: ends(RunState.FAILED),
    RunState.ABORTED: ends(RunState.ABORTED),
}


def test_every_verb_that_takes_a_lane_is_listed_here() -> None:
    verbs = inspect.getmembers(Journal, inspect.iscoroutinefunction)
    takes = {name for name, verb in verbs if "lane" in inspect.signature(verb).parameters}
    assert takes == {name.split()[0] for name in LANE_VERBS}


async def refused(home: Home, verb: str, claimed: Claim) -> None:
    """The verb raises Fenced and writes nothing."""
    before = await home.everything()
    with pytest.raises(Fenced):
        await LANE_VERBS[verb](home.journal(), claimed)
    assert await home.everything() == before


@every_lane_verb
async def test_after_somebody_elses_claim_a_verb_is_fenced_and_writes_nothing(
    home: Home, verb: str
) -> None:
    doomed = home.doomed()
    old = await begun(doomed)
    await asked(doomed, old)
    await admit(doomed, said("more"))
    await claim(home.journal())
    await refused(home, verb, old)


@every_lane_verb
async def test_after_an_order_to_stop_a_verb_is_fenced_and_writes_nothing(
    home: Home, verb: str, journal: SqlJournal
) -> None:
    old = await begun(journal)
    await asked(journal, old)
    await admit(journal, stop_order(), said("more"))
    await refused(home, verb, old)


@every_lane_verb
async def test_after_its_end_a_run_takes_no_verb(home: Home, verb: str) -> None:
    journal = home.journal()
    old = await begun(journal)
    await answered(journal, old, "done")
    await admit(journal, said("more"))
    await refused(home, verb, old)


@every_lane_verb
async def test_a_run_that_was_given_back_takes_no_verb(home: Home, verb: str) -> None:
    journal = home.journal()
    old = await begun(journal)
    await asked(journal, old)
    await journal.release(old.lane, old.run)
    await admit(journal, said("more"))
    await refused(home, verb, old)


@pytest.mark.parametrize("target", MOVES, ids=str)
async def test_a_run_changes_its_state_along_the_one_table_only(
    home: Home, target: RunState, journal: SqlJournal
) -> None:
    for number, state in enumerate(RunState):
        key = f"session-{number}"
        claimed = await begun(journal, f"run-{number}", key)
        await home.execute("UPDATE runs SET state = :s WHERE session_key = :k", s=state, k=key)
        before = await home.everything()
        if target in TRANSITIONS[state]:
            await MOVES[target](journal, claimed)
            states = await home.column("SELECT state FROM runs WHERE session_key = :k", k=key)
            assert states == [target]
        else:
            with pytest.raises(Fenced):
                await MOVES[target](journal, claimed)
            assert await home.everything() == before, f"{state} -> {target}"


@pytest.mark.parametrize("state", sorted(set(RunState) - LIVE))
async def test_nothing_is_recorded_for_a_run_that_has_ended(home: Home, state: RunState) -> None:
    journal = home.journal()
    claimed = await begun(journal)
    await home.execute("UPDATE runs SET state = :s", s=state)
    await refused(home, "record_result", claimed)


async def test_what_precedes_a_step_is_in_its_transaction(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    lane, run = claimed.lane, claimed.run
    entries = [
        *claimed.entries,
        *await journal.start_model(lane, run, [prompt(), call()], PROMPT),
        *await journal.start_model(lane, run, [reply(), RESULT, call(2)], None),
        *await journal.record_reply(lane, run, reply(), STARTED),
    ]
    assert await home.column("SELECT state FROM runs") == [RunState.TOOL_RUNNING]
    entries += await journal.start_model(lane, run, [RESULT, prompt(), call(3)], PROMPT)
    assert await home.column("SELECT state FROM runs") == [RunState.MODEL_RUNNING]
    assert await home.column("SELECT progress FROM runs") == [3]
    assert await home.entries(KEY) == entries
    assert await home.verify(KEY) == len(entries)


async def test_the_log_holds_every_step_of_a_run_in_order(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    lane, run = claimed.lane, claimed.run
    entries = [
        *claimed.entries,
        *await journal.start_model(lane, run, [prompt(), call()], PROMPT),
        *await journal.record_reply(lane, run, reply("let me see")),
        *await journal.start_tool(lane, run, STARTED),
        *await journal.record_result(lane, run, [RESULT, RESULT]),
        *await journal.start_model(lane, run, [call(2)], None),
    ]
    assert await home.entries(KEY) == entries
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert await home.verify(KEY) == 8


async def test_a_log_reads_the_same_after_reopening(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    await asked(journal, claimed)
    before = await home.entries(KEY)
    await home.reopen()
    assert await home.entries(KEY) == before
    assert await home.journal().snapshot("digest") == PROMPT


async def test_a_prompt_is_stored_once_under_its_digest(home: Home, journal: SqlJournal) -> None:
    for number in range(3):
        claimed = await begun(journal, f"r{number}")
        await asked(journal, claimed)
        await answered(journal, claimed)
    assert await home.column("SELECT digest FROM prompts") == ["digest"]
    other = PromptSnapshot(system="Another.", tools=())
    claimed = await begun(journal)
    await journal.start_model(
        claimed.lane, claimed.run, [prompt("second"), call(prompt="second")], other
    )
    assert await journal.snapshot("digest") == PROMPT
    assert await journal.snapshot("second") == other


async def test_a_prompt_that_is_gone_is_made_anew_by_whoever_needs_it(home: Home) -> None:
    assert await home.journal().snapshot("abc123") is None


async def test_the_end_of_a_run_is_one_transaction(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    await asked(journal, claimed)
    usage = RunUsage(model_calls=1, prompt_tokens=10)
    end = Ending(
        state=RunState.FAILED,
        bodies=(FailedEntry(text="no"),),
        outbound=ending("first", "second").outbound,
        usage=usage,
        error="limit",
    )
    assert not await journal.finish(claimed.lane, claimed.run, end)
    assert (await home.bodies(KEY))[-1] == end.bodies[0]
    assert await home.rows("SELECT state, error, ended_at FROM runs") == [
        ("failed", "limit", home.clock.now())
    ]
    assert await home.column("SELECT state FROM inbound") == ["settled"]
    assert await home.column("SELECT key FROM outbound ORDER BY id") == ["run:0", "run:1"]
    assert await home.rows("SELECT owner, lease_until FROM sessions") == [(None, None)]


async def test_an_end_that_fails_half_way_ends_nothing(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    before = await home.everything()
    with pytest.raises(UnicodeEncodeError):
        await answered(journal, claimed, "fine", "\ud800")
    assert await home.everything() == before
    await answered(journal, claimed, "fine")


async def test_the_end_of_a_run_tells_whether_more_waits(journal: SqlJournal) -> None:
    first = await begun(journal, "r1")
    await admit(journal, said("more", BEN))
    assert await answered(journal, first, "one")
    second = await claim(journal, "r2")
    assert not await answered(journal, second, "two")


async def test_a_key_that_is_owed_already_is_not_owed_again(home: Home) -> None:
    journal = home.journal()
    first = await begun(journal, "r1")
    await journal.finish(first.lane, first.run, ending("one", run_id="same"))
    second = await begun(journal, "r2")
    await journal.finish(second.lane, second.run, ending("two", run_id="same"))
    row = await following(journal)
    assert row.message.text == "one"
    assert await home.column("SELECT count(*) FROM outbound") == [1]


async def test_a_session_shows_its_run_until_it_ends(journal: SqlJournal) -> None:
    claimed = await begun(journal, "r1")
    await admit(journal, said("more", BEN))
    row = await journal.session(KEY)
    assert row is not None
    assert row.run is not None
    assert (row.run.id, row.run.kind, row.waiting, row.entries) == ("r1", RunKind.CHAT, 1, 1)
    await answered(journal, claimed, "done")
    row = await journal.session(KEY)
    assert row is not None
    assert (row.run, row.entries) == (None, 2)
