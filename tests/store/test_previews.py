"""A preview's row: nobody sends it, it becomes the answer's, and no end of a run leaves it."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from nanobot.messages import OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.session.entries import ReplyEntry
from nanobot.session.outbox import OutboundRow
from nanobot.session.runs import Claim, Ending
from nanobot.session.states import RunState
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.journal.outbox import STOPPED_LINE
from tests.store.home import Home
from tests.store.making import (
    CHAT,
    KEY,
    admit,
    answered,
    begun,
    following,
    rendered,
    stop_order,
    told,
)
from tests.stored import consuming, previewing

SHOWN = OutboundPart(text="I thi ...", payload=b"{}", key="run:0:p")


def answer(text: str) -> OutboundMessage:
    return told(text, "run:0")


async def previewed(home: Home) -> tuple[SqlJournal, Claim, OutboundRow]:
    """A run of which something is about to be shown."""
    journal = home.journal()
    claimed = await begun(journal)
    row = await previewing(journal).preview("run", answer("I thi"), SHOWN)
    assert row is not None
    return journal, claimed, row


async def standing(home: Home) -> tuple[SqlJournal, Claim, OutboundRow]:
    """A run of which something is shown."""
    journal, claimed, row = await previewed(home)
    assert await journal.receipt(row, 0, "m1", begin=None) is None
    return journal, claimed, row


async def test_a_preview_is_owed_to_nobody(home: Home) -> None:
    journal, _, row = await standing(home)
    assert (row.state, row.standing) == ("preview", None)
    assert await journal.next_outbound(CHAT) is None
    assert await journal.owed_chats("telegram") == []
    assert await consuming(journal).oldest_owed() is None


async def test_a_preview_that_stands_is_found_again(home: Home) -> None:
    await standing(home)
    await home.reopen()
    row = await previewing(home.journal()).preview("run", answer("I think"), SHOWN)
    assert row is not None
    assert row.standing == "m1"


async def test_a_preview_of_which_nobody_knows_whether_it_stands_is_left_alone(home: Home) -> None:
    journal, _, _ = await previewed(home)
    assert await previewing(journal).preview("run", answer("I think"), SHOWN) is None


async def test_a_preview_that_was_not_sent_is_none(home: Home) -> None:
    journal, claimed, row = await previewed(home)
    await journal.defer(row, 0, 0.0, "429")
    assert await previewing(journal).preview("run", answer("I think"), SHOWN) is None
    await answered(journal, claimed, "I think so.")
    row = await following(journal)
    assert (row.message.text, row.parts) == ("I think so.", ())


async def test_the_answer_takes_the_row_and_what_stands_there(home: Home) -> None:
    journal, claimed, _ = await standing(home)
    home.clock.advance(100)
    await answered(journal, claimed, "I think so.")
    row = await following(journal)
    assert (row.state, row.message.text, row.standing) == ("pending", "I think so.", "m1")
    assert row.created_at == home.clock.now()
    assert row.preview is not None
    assert await journal.owed_chats("telegram") == [CHAT]


async def test_the_answers_parts_come_in_the_place_of_the_preview(home: Home) -> None:
    journal, claimed, _ = await standing(home)
    await answered(journal, claimed, "I think so.")
    parts = rendered("I think", "so.")
    await journal.begin_send(await following(journal), parts, 0, duplicate=False)
    await home.reopen()
    journal = home.journal()
    row = await following(journal)
    assert [part.part for part in row.parts] == parts
    assert [part.state for part in row.parts] == ["sending", "pending"]
    assert (row.preview, row.standing) == (None, "m1")
    await journal.defer(row, 0, 0.0, "429")
    assert (await following(journal)).standing == "m1"
    await journal.receipt(row, 0, "m1", begin=1)
    assert (await following(journal)).standing is None


async def test_what_stands_there_no_more_is_forgotten(home: Home) -> None:
    journal, claimed, _ = await standing(home)
    await answered(journal, claimed, "I think so.")
    row = await following(journal)
    await journal.begin_send(row, rendered("I think so."), 0, duplicate=False)
    gone = msgspec.structs.replace(row, parts=())
    await journal.begin_send(gone, rendered("I think so."), 0, duplicate=False)
    row = await following(journal)
    assert (row.standing, [part.state for part in row.parts]) == (None, ["sending"])


async def test_there_is_no_preview_of_a_run_that_has_ended(home: Home, journal: SqlJournal) -> None:
    claimed = await begun(journal)
    await answered(journal, claimed, "Done.")
    before = await home.everything()
    assert await previewing(journal).preview("run", answer("Do"), SHOWN) is None
    assert await previewing(journal).preview("nobody", told("Do", "nobody:0"), SHOWN) is None
    assert await home.everything() == before


@pytest.mark.parametrize(
    ("bodies", "text"),
    [
        ((), f"I thi\n\n{STOPPED_LINE}"),
        (
            (ReplyEntry(call=1, text="I think that", partial=True),),
            f"I think that\n\n{STOPPED_LINE}",
        ),
    ],
)
async def test_a_run_that_is_stopped_closes_its_preview(
    home: Home, bodies: tuple[ReplyEntry, ...], text: str
) -> None:
    journal, _, _ = await standing(home)
    await admit(journal, stop_order(everyone=True, bodies=bodies))
    row = await following(journal)
    assert (row.state, row.message.text, row.standing) == ("pending", text, "m1")
    assert await home.column("SELECT state FROM outbound ORDER BY id") == ["pending", "pending"]


async def test_a_run_that_is_stopped_forgets_a_preview_that_was_not_sent(home: Home) -> None:
    journal, _, row = await previewed(home)
    await journal.defer(row, 0, 0.0, "429")
    await admit(journal, stop_order(everyone=True))
    assert (await following(journal)).message.text == "Stopped."


async def test_a_run_that_owes_nothing_closes_its_preview(home: Home) -> None:
    journal, claimed, _ = await standing(home)
    await journal.finish(claimed.lane, claimed.run, Ending(state=RunState.ABORTED))
    assert (await following(journal)).message.text == f"I thi\n\n{STOPPED_LINE}"


async def test_a_run_given_back_keeps_its_preview(home: Home) -> None:
    journal, claimed, _ = await standing(home)
    await journal.release(claimed.lane, claimed.run)
    again = await journal.claim(KEY, "unused", "UTC")
    assert again is not None
    row = await previewing(journal).preview(again.run.id, answer("I think"), SHOWN)
    assert row is not None
    assert row.standing == "m1"


async def test_an_end_at_the_same_moment_leaves_no_preview_behind(home: Home) -> None:
    journal = home.journal()
    for number in range(20):
        claimed = await begun(journal, f"r{number}", f"telegram:{number}")
        shown = told("I thi", f"r{number}:0")
        over = Ending(state=RunState.ABORTED)
        async with asyncio.TaskGroup() as tasks:
            for verb in (
                previewing(journal).preview(f"r{number}", shown, SHOWN),
                journal.finish(claimed.lane, claimed.run, over),
            )[:: 1 if number % 2 else -1]:
                tasks.create_task(verb)
    assert await home.column("SELECT id FROM outbound WHERE state = 'preview'") == []
