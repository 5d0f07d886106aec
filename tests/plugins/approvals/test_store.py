"""A run that waits for a person is a row: parked, answered, run out of time, or overtaken."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from nanobot.errors import Fenced
from nanobot.messages import Address, Origin, OutboundKind, Role
from nanobot.plugins.approvals.port import AnswerOutcome, ApprovalAnswer
from nanobot.session.approvals import AllowedForGood, Approval, NobodyReached, Parked
from nanobot.session.entries import (
    ApprovalEntry,
    CancelEntry,
    DecisionEntry,
    DeniedEntry,
    ReplyEntry,
    ToolResultEntry,
    UserEntry,
)
from nanobot.session.inbox import Admission
from nanobot.session.runs import Claim
from nanobot.session.states import RunKind, RunState
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import (
    ANN,
    BEN,
    CHAT,
    KEY,
    admit,
    answered,
    approval,
    asked,
    begun,
    call,
    claim,
    reply,
    said,
    stop_order,
)
from tests.stored import approvals_of

YES = ApprovalAnswer(state="approved", by="Ben")
NO = ApprovalAnswer(state="denied", by="Ben")


async def parked(home: Home, question: Approval | None = None) -> Claim:
    """A run of ANN's that waits."""
    journal = home.journal()
    claimed = await begun(journal, "r1")
    await asked(journal, claimed)
    await journal.record_reply(claimed.lane, claimed.run, reply())
    done = await journal.park(claimed.lane, claimed.run, question or approval(run_id="r1"))
    assert isinstance(done, Parked)
    assert done.owes == (CHAT,)
    return claimed


def last_asked(parked: Parked) -> int:
    """The number of the question that was parked."""
    (number,) = (e.body.id for e in parked.entries if isinstance(e.body, ApprovalEntry))
    return number


async def decided(home: Home, given: ApprovalAnswer) -> AnswerOutcome:
    """What somebody's answer to it came to."""
    (number,) = await home.column("SELECT id FROM approvals")
    done = await approvals_of(home.journal()).answer(number, given)
    assert done is not None
    return done


async def ended(home: Home, run_id: str, text: str) -> None:
    """The lane's next run asks the model once more and answers."""
    claimed = await claim(home.journal(), run_id)
    await asked(home.journal(), claimed, 2)
    await answered(home.journal(), claimed, text)


async def states(home: Home) -> tuple[str, str]:
    """Of the run and of what it asked."""
    (run,) = await home.column("SELECT state FROM runs WHERE id = 'r1'")
    (row,) = await home.column("SELECT state FROM approvals")
    return run, row


async def test_parking_asks_in_the_chat_and_lets_go_of_the_lane(home: Home) -> None:
    claimed = await parked(home)
    assert await states(home) == ("awaiting_human", "waiting")
    row = await home.journal().next_outbound(CHAT)
    assert row is not None
    assert row.message.kind is OutboundKind.APPROVAL
    (number,) = await home.column("SELECT id FROM approvals")
    says = [f"/approve {number}", f"/deny {number}", f"/approve {number} always"]
    assert [choice.say for choice in row.message.choices] == says
    assert isinstance((await home.bodies(KEY))[-1], ApprovalEntry)
    with pytest.raises(Fenced):
        await home.journal().record_result(claimed.lane, claimed.run, [])


async def test_what_waits_is_not_claimed_and_known_to_be_held_until_its_time(home: Home) -> None:
    await parked(home)
    journal = home.journal()
    assert await journal.claim(KEY, "other", "UTC") is None
    assert await journal.held(KEY) == 3_600
    (lane,) = await journal.ready()
    assert (lane.session_key, lane.kind, lane.held, lane.attempts) == (KEY, RunKind.CHAT, 3_600, 0)


async def test_an_approval_lets_exactly_that_run_go_on(home: Home) -> None:
    await parked(home)
    done = await decided(home, YES)
    assert done.fresh
    entry = DecisionEntry(id=done.approval.id, verdict="approved", by="Ben")
    assert (await home.bodies(KEY))[-1] == entry
    claimed = await claim(home.journal(), "other")
    assert (claimed.run.id, claimed.run.attempts) == ("r1", 1)
    assert await states(home) == ("tool_running", "approved")


async def test_a_refusal_is_the_result_of_the_call(home: Home) -> None:
    await parked(home)
    await decided(home, NO)
    result = (await home.bodies(KEY))[-1]
    assert isinstance(result, ToolResultEntry)
    assert (result.call, result.index, result.ok) == (1, 0, False)
    assert result.text.startswith("not executed: denied by Ben")


async def test_the_first_answer_counts(home: Home) -> None:
    await parked(home)
    async with asyncio.TaskGroup() as tasks:
        given = [tasks.create_task(decided(home, verdict)) for verdict in (YES, NO)]
    both = [task.result() for task in given]
    assert sorted(decision.fresh for decision in both) == [False, True]
    (first,) = [decision.approval.state for decision in both if decision.fresh]
    (second,) = [decision.approval.state for decision in both if not decision.fresh]
    assert first == second == (await states(home))[1]


async def test_what_was_never_asked_has_no_answer(home: Home) -> None:
    assert await approvals_of(home.journal()).answer(7, YES) is None


async def test_a_message_overtakes_it(home: Home) -> None:
    await parked(home)
    journal = home.journal()
    await admit(journal, said("hello?", BEN))
    assert (await journal.ready())[0].held < 1
    claimed = await claim(journal, "other")
    assert claimed.run.id == "r1"
    assert await states(home) == ("tool_running", "detached")
    result = (await home.bodies(KEY))[-1]
    assert isinstance(result, ToolResultEntry)
    assert result.text.startswith("not yet approved (#")
    assert await journal.take_pending(claimed.lane, claimed.run, "UTC") == ()


async def test_an_overtaken_call_is_made_in_a_run_of_its_own_once_approved(home: Home) -> None:
    await parked(home)
    journal = home.journal()
    await admit(journal, said("hello?"))
    await ended(home, "r1", "later")
    await ended(home, "r2", "hello")
    assert (await decided(home, YES)).fresh
    (lane,) = await journal.ready()
    assert lane.kind is RunKind.CHAT
    claimed = await claim(journal, "r3")
    assert (claimed.run.origin, claimed.run.state) == (Origin.APPROVAL, RunState.TOOL_RUNNING)
    assert (claimed.run.sender_id, claimed.run.role, claimed.run.address) == (
        ANN,
        Role.MEMBER,
        CHAT,
    )
    bodies = [entry.body for entry in claimed.entries if entry.run_id == "r3"]
    assert [type(body) for body in bodies] == [UserEntry, ReplyEntry, ApprovalEntry, DecisionEntry]
    assert isinstance(bodies[1], ReplyEntry)
    assert bodies[1].tool_calls[0].name == "clock"
    await journal.record_result(
        claimed.lane,
        claimed.run,
        [ToolResultEntry(call=0, index=0, name="clock", text="noon")],
    )
    await journal.start_model(claimed.lane, claimed.run, [call(1)], None)
    assert not await answered(journal, claimed, "it is noon")
    assert await home.column("SELECT id FROM inbound WHERE state != 'settled'") == []


async def test_a_late_refusal_is_noted(home: Home) -> None:
    await parked(home)
    journal = home.journal()
    await admit(journal, said("hello?"))
    await claim(journal)
    done = await decided(home, NO)
    note = (await home.bodies(KEY))[-1]
    assert note == DeniedEntry(text=f"#{done.approval.id} (clock) was denied by Ben")


async def test_its_time_runs_out(home: Home) -> None:
    await parked(home)
    home.clock.advance(3_600)
    done = await decided(home, YES)
    assert (done.fresh, done.approval.state) == (False, "expired")
    claimed = await claim(home.journal())
    assert claimed.run.id == "r1"
    assert await states(home) == ("tool_running", "expired")
    result = (await home.bodies(KEY))[-1]
    assert isinstance(result, ToolResultEntry)
    assert result.text == "not executed: nobody approved it within 1 h"


async def test_it_runs_out_for_what_was_overtaken_too(home: Home) -> None:
    await parked(home)
    journal = home.journal()
    await admit(journal, said("hello?"))
    await claim(journal)
    home.clock.advance(3_600)
    assert not (await decided(home, YES)).fresh
    assert (await states(home))[1] == "expired"


async def test_an_answer_to_a_question_is_taken_from_among_what_waits(home: Home) -> None:
    await parked(home, approval(ask="when?", run_id="r1"))
    journal = home.journal()
    await admit(journal, said("not me", BEN), said("at noon"))
    claimed = await claim(journal)
    assert await states(home) == ("tool_running", "answered")
    result = (await home.bodies(KEY))[-1]
    assert isinstance(result, ToolResultEntry)
    assert (result.text, result.ok) == ("at noon", True)
    await asked(journal, claimed, 2)
    assert await answered(journal, claimed, "noon it is")
    query = "SELECT dedupe_key FROM inbound WHERE state != 'settled'"
    assert await home.column(query) == ["not me"]


async def test_a_stop_voids_it(home: Home) -> None:
    await parked(home)
    await admit(home.journal(), stop_order())
    assert await states(home) == ("aborted", "void")
    assert isinstance((await home.bodies(KEY))[-1], CancelEntry)
    assert not (await decided(home, YES)).fresh
    assert await home.journal().ready() == []


async def test_somebody_elses_stop_voids_nothing(home: Home) -> None:
    await parked(home)
    await admit(home.journal(), stop_order(BEN))
    assert await states(home) == ("awaiting_human", "waiting")


async def test_a_restart_counts_as_no_unclean_end(home: Home) -> None:
    await parked(home)
    await home.reopen()
    await decided(home, YES)
    assert (await claim(home.journal())).run.attempts == 1


async def test_for_good_means_the_same_call_in_this_conversation(home: Home) -> None:
    await parked(home)
    journal = home.journal()
    await decided(home, msgspec.structs.replace(YES, always=True))
    claimed = await claim(journal)
    again = await journal.park(claimed.lane, claimed.run, approval(run_id="r1"))
    assert isinstance(again, AllowedForGood)
    assert [type(entry.body) for entry in again.entries] == [ApprovalEntry, DecisionEntry]
    tainted = msgspec.structs.replace(approval(run_id="r1"), tainted=True)
    asked_again = await journal.park(claimed.lane, claimed.run, tainted)
    assert isinstance(asked_again, Parked)
    assert asked_again.owes == (CHAT,)
    (rule,) = await approvals_of(home.records()).rules()
    assert (rule.session_key, rule.tool, rule.by, rule.tainted) == (KEY, "clock", "Ben", False)
    assert await approvals_of(home.records()).forget_rule(rule.id)
    assert not await approvals_of(home.records()).forget_rule(rule.id)


@pytest.mark.parametrize(
    ("given", "now", "holds"),
    [
        ("om1", "om1", True),
        ("om1", "o0", True),
        ("o1", "om1", False),  # a member has spoken since
        ("om1", "om3", False),  # something more private is there
        ("ot1:web_fetch", "ot1:read_file", True),
        ("", "om2", True),  # asked by an earlier version
        ("", "og0", False),
    ],
)
async def test_for_good_holds_for_the_speakers_and_the_privacy_of_that_time(
    home: Home, given: str, now: str, holds: bool
) -> None:
    tainted = "t" in given
    first = msgspec.structs.replace(approval(run_id="r1"), label=given, tainted=tainted)
    await parked(home, first)
    await decided(home, msgspec.structs.replace(YES, always=True))
    journal = home.journal()
    claimed = await claim(journal)
    later = msgspec.structs.replace(first, label=now)
    again = await journal.park(claimed.lane, claimed.run, later)
    assert isinstance(again, AllowedForGood) is holds


async def test_for_good_does_not_hold_for_a_tool_that_nobody_accepted(home: Home) -> None:
    await parked(home)
    await decided(home, msgspec.structs.replace(YES, always=True))
    journal = home.journal()
    claimed = await claim(journal)
    changed = msgspec.structs.replace(approval(run_id="r1"), version="b", unaccepted=True)
    again = await journal.park(claimed.lane, claimed.run, changed)
    assert isinstance(again, Parked)
    await approvals_of(journal).answer(last_asked(again), YES)
    claimed = await claim(journal)
    accepted = msgspec.structs.replace(changed, unaccepted=False)
    assert isinstance(await journal.park(claimed.lane, claimed.run, accepted), AllowedForGood)


async def test_without_anybody_to_ask_nothing_is_written(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal, "r1")
    await asked(journal, claimed)
    await journal.record_reply(claimed.lane, claimed.run, reply())
    before = await home.everything()
    elsewhere = msgspec.structs.replace(approval(run_id="r1"), here=False)
    assert await journal.park(claimed.lane, claimed.run, elsewhere) == NobodyReached()
    assert await home.everything() == before


async def test_those_who_may_are_asked_where_they_spoke_alone_last(journal: SqlJournal) -> None:
    for number, group in enumerate((False, False, True)):
        where = Address("telegram", f"private{number}")
        message = msgspec.structs.replace(said(f"m{number}", BEN, where), group=group)
        owner = Admission(message=message, session_key=f"s{number}", role=Role.OWNER)
        await admit(journal, owner)
    claimed = await begun(journal, "r1")
    await asked(journal, claimed)
    await journal.record_reply(claimed.lane, claimed.run, reply())
    elsewhere = msgspec.structs.replace(approval(run_id="r1"), here=False)
    done = await journal.park(claimed.lane, claimed.run, elsewhere)
    assert isinstance(done, Parked)
    assert done.owes == (CHAT, Address("telegram", "private1"))


async def test_an_approver_is_asked_on_their_own_channel_only(journal: SqlJournal) -> None:
    """Somebody else may have the same id on another platform."""
    for number, channel in enumerate(("email", "telegram")):
        said_there = said(f"m{number}", BEN, Address(channel, "private"))
        await admit(
            journal, Admission(message=said_there, session_key=f"s{number}", role=Role.MEMBER)
        )
    claimed = await begun(journal, "r1")
    await asked(journal, claimed)
    await journal.record_reply(claimed.lane, claimed.run, reply())
    question = msgspec.structs.replace(
        approval(run_id="r1"), here=False, approvers=("members", f"telegram:{BEN}")
    )
    done = await journal.park(claimed.lane, claimed.run, question)
    assert isinstance(done, Parked)
    assert done.owes == (CHAT, Address("telegram", "private"))


async def continued_alone(home: Home) -> SqlJournal:
    """A store without the plugin's code, where the waiting run continued and ended."""
    await parked(home)
    alone = home.journal()
    alone.writer.waits = None
    (lane,) = await alone.ready()
    assert lane.session_key == KEY
    assert lane.held < 0.01
    claimed = await claim(alone, "other")
    assert claimed.run.id == "r1"
    refused = ToolResultEntry(call=1, index=0, name="act", text="nobody is asked", ok=False)
    await alone.record_result(claimed.lane, claimed.run, [refused])
    await asked(alone, claimed, 2)
    await answered(alone, claimed, "I may not.")
    return alone


async def test_without_the_plugin_a_waiting_run_continues_at_once(home: Home) -> None:
    await continued_alone(home)
    assert await states(home) == ("completed", "detached")
    assert not any(isinstance(body, DecisionEntry) for body in await home.bodies(KEY))


async def test_what_it_waited_for_can_be_decided_afterwards_and_concerns_no_other_run(
    home: Home,
) -> None:
    await continued_alone(home)
    later = await begun(home.journal(), "r2")
    outcome = await decided(home, YES)
    assert (outcome.fresh, outcome.approval.state) == (True, "approved")
    assert later.run.state is RunState.PREPARING
    assert await home.column("SELECT state FROM runs WHERE id = 'r2'") == ["preparing"]
    assert await home.column("SELECT origin FROM inbound WHERE state = 'pending'") == ["approval"]


async def test_without_the_plugin_the_run_of_a_late_approval_asks_the_model(home: Home) -> None:
    alone = await continued_alone(home)
    await decided(home, YES)
    claimed = await claim(alone, "r2")
    assert (claimed.run.origin, claimed.run.state) == (Origin.APPROVAL, RunState.PREPARING)
    own = [entry.body for entry in claimed.entries if entry.run_id == "r2"]
    assert [type(body) for body in own] == [UserEntry]
