"""Edited messages: the last version counts, and a corrected typo has no second answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
import pytest

from nanobot.messages import Attachment, InboundMessage, deletion
from nanobot.session.entries import UserEntry
from nanobot.session.inbox import Busy
from nanobot.session.said import notice
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import (
    ANN,
    BEN,
    KEY,
    admit,
    answered,
    begun,
    claim,
    let_in,
    said,
    stop_order,
    with_file,
)

HERE = Attachment("image", ref="photo", blob="ab" * 32)


def edited(text: str, of: str, sender: str = ANN, key: str = "") -> InboundMessage:
    known_by = key or f"edit of {of}: {text}"
    return msgspec.structs.replace(said(text, sender, key=known_by), edit_of=of)


async def texts(home: Home) -> list[tuple[str, bool]]:
    bodies = await home.bodies(KEY)
    return [(body.text, body.edited) for body in bodies if isinstance(body, UserEntry)]


async def states(home: Home) -> list[str]:
    return await home.column("SELECT state FROM inbound ORDER BY id")


async def test_a_waiting_message_is_replaced_where_it_stands(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("helo"), said("second"))
    (done,) = await admit(journal, edited("hello", "helo"))
    assert done.fresh
    assert done.owes is None
    await claim(journal)
    assert await texts(home) == [("hello", False), ("second", False)]
    assert await states(home) == ["taken", "taken", "settled"]


async def test_the_last_of_several_versions_counts(home: Home, journal: SqlJournal) -> None:
    await admit(journal, said("a"))
    await admit(journal, edited("b", "a"))
    await admit(journal, edited("c", "a"))
    await claim(journal)
    assert await texts(home) == [("c", False)]


async def test_a_version_that_is_delivered_twice_is_taken_once(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("a"))
    await admit(journal, edited("b", "a", key="e1"))
    await admit(journal, edited("c", "a", key="e2"))
    (again,) = await admit(journal, edited("b", "a", key="e1"))
    assert not again.fresh
    await claim(journal)
    assert await texts(home) == [("c", False)]


async def test_a_new_version_of_what_is_being_answered_steers_the_run(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("helo"))
    claimed = await claim(journal)
    await admit(journal, edited("hello", "helo"))
    (steered,) = await journal.take_pending(claimed.lane, claimed.run, "UTC")
    assert isinstance(steered.body, UserEntry)
    assert steered.body.edited
    assert await texts(home) == [("helo", False), ("hello", True)]


async def test_a_new_version_of_what_was_answered_is_not_answered_again(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("helo"))
    claimed = await claim(journal)
    await answered(journal, claimed, "Hi.")
    (done,) = await admit(journal, edited("hello", "helo"))
    assert (done.stopped, done.held) == (None, 0.0)
    assert await journal.claim(KEY, "r2", "UTC") is None
    assert await texts(home) == [("helo", False)]
    assert await states(home) == ["settled", "settled"]


async def test_whoever_changes_what_was_answered_is_told_once(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("helo"))
    await answered(journal, await claim(journal), "Hi.")
    (same,) = await admit(journal, edited("helo", "helo", key="e1"))
    assert same.owes is None
    (first,) = await admit(journal, edited("hello", "helo", key="e2"))
    assert first.owes == said("helo").address
    await admit(journal, edited("hello!", "helo", key="e3"))
    bodies = await home.column("SELECT body FROM outbound WHERE key LIKE 'edited:%'")
    assert len(bodies) == 1
    assert b"I had already answered this" in bytes(bodies[0])


async def test_a_version_without_a_change_is_not_answered_while_its_run_works(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("see https://x.org"))
    claimed = await claim(journal)
    for key in ("preview", "buttons"):
        await admit(journal, edited("see https://x.org", "see https://x.org", key=key))
    assert await journal.take_pending(claimed.lane, claimed.run, "UTC") == ()
    await admit(journal, edited("see https://y.org", "see https://x.org", key="edit"))
    assert len(await journal.take_pending(claimed.lane, claimed.run, "UTC")) == 1
    await admit(journal, edited("see https://y.org", "see https://x.org", key="preview 2"))
    assert await journal.take_pending(claimed.lane, claimed.run, "UTC") == ()


async def test_another_file_is_a_change_and_another_address_of_it_is_none(home: Home) -> None:
    journal = home.journal()
    photo = Attachment("image", ref="https://x.org/a?ex=1", name="a.png", size=7)
    first = msgspec.structs.replace(said("look"), attachments=(photo,))
    await admit(journal, first)
    claimed = await claim(journal)
    for ref, size, taken in (("https://x.org/a?ex=2", 7, 0), ("https://x.org/b", 8, 1)):
        other = msgspec.structs.replace(photo, ref=ref, size=size)
        again = msgspec.structs.replace(edited("look", "look", key=ref), attachments=(other,))
        await admit(journal, again)
        assert len(await journal.take_pending(claimed.lane, claimed.run, "UTC")) == taken


async def test_of_several_corrections_that_wait_for_a_run_the_last_counts(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("a"))
    claimed = await claim(journal)
    await admit(journal, edited("b", "a"))
    await admit(journal, edited("c", "a"))
    (steered,) = await journal.take_pending(claimed.lane, claimed.run, "UTC")
    assert isinstance(steered.body, UserEntry)
    assert steered.body.text == "c"


async def test_in_a_group_the_first_version_that_was_let_in_is_answered_once(home: Home) -> None:
    journal = home.journal()
    for key in ("mention", "preview"):
        message = edited("bot, see https://x.org", "see https://x.org", key=key)
        await admit(journal, msgspec.structs.replace(message, group=True))
    await answered(journal, await claim(journal), "Seen.")
    message = edited("bot, see https://x.org", "see https://x.org", key="preview 2")
    await admit(journal, msgspec.structs.replace(message, group=True))
    assert await journal.claim(KEY, "r2", "UTC") is None


async def test_whether_a_version_changes_anything_is_known(journal: SqlJournal) -> None:
    await admit(journal, said("/new"))
    assert await journal.unchanged(edited("/new", "/new"))
    assert not await journal.unchanged(edited("/stop", "/new"))
    assert not await journal.unchanged(edited("/new", "never seen"))


def deleted(key: str) -> InboundMessage:
    return deletion(said("").address, key)


async def test_what_is_deleted_before_a_run_takes_it_is_not_answered(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("a"), said("b"), said("c"))
    await admit(journal, deleted("a"), deleted("c"), deleted("never seen"))
    await claim(journal)
    assert await texts(home) == [("b", False)]
    assert await states(home) == ["settled", "taken", "settled"]


async def test_what_is_deleted_with_its_first_delivery_is_not_answered(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("a"), deleted("a"))
    assert await journal.claim(KEY, "r1", "UTC") is None


async def test_the_run_of_a_deleted_message_goes_on_without_its_correction(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("a"))
    claimed = await claim(journal)
    await admit(journal, edited("b", "a"))
    await admit(journal, deleted("a"))
    assert await journal.take_pending(claimed.lane, claimed.run, "UTC") == ()
    await answered(journal, claimed, "done")


async def test_a_deletion_starts_nothing_and_is_not_kept(home: Home) -> None:
    journal = home.journal()
    (done,) = await admit(journal, deleted("a"))
    assert (done.fresh, done.claim, done.owes) == (False, None, None)
    assert await states(home) == []


async def test_nor_is_one_of_a_message_that_never_came_here(home: Home) -> None:
    journal = home.journal()
    await admit(journal, edited("hello", "from before"))
    assert await journal.claim(KEY, "r1", "UTC") is None
    assert await states(home) == ["settled"]


async def test_in_a_group_what_was_not_let_in_counts_from_its_first_version_that_is(
    home: Home, journal: SqlJournal
) -> None:
    first = msgspec.structs.replace(edited("bot, hello", "hello"), group=True)
    await admit(journal, first)
    await claim(journal)
    assert await texts(home) == [("bot, hello", True)]
    assert await states(home) == ["taken"]


async def test_somebody_elses_words_are_not_replaced(home: Home, journal: SqlJournal) -> None:
    await admit(journal, said("mine"))
    await admit(journal, edited("forged", "mine", BEN))
    await claim(journal)
    assert await texts(home) == [("mine", False)]


async def test_a_full_lane_refuses_no_correction(home: Home, journal: SqlJournal) -> None:
    await admit(journal, said("helo"))
    (done,) = await admit(journal, edited("hello", "helo"), lane_limit=1)
    assert not done.refused
    await claim(journal)
    assert await texts(home) == [("hello", False)]


async def test_an_order_that_was_corrected_into_is_obeyed(journal: SqlJournal) -> None:
    claimed = await begun(journal)
    order = stop_order()
    message = msgspec.structs.replace(order.message, edit_of="/stpo")
    (done,) = await admit(journal, msgspec.structs.replace(order, message=message))
    assert done.stopped is not None
    assert done.stopped.id == claimed.run.id


async def test_a_correction_of_what_was_answered_interrupts_nothing(journal: SqlJournal) -> None:
    first = await begun(journal, "r1")
    await answered(journal, first, "done")
    await begun(journal, "r2")
    late = let_in(edited("again", f"for r1 in {KEY}"))
    (done,) = await journal.admit("telegram", [late], None, 50, Busy(mode="interrupt"))
    assert done.stopped is None


async def test_a_corrected_caption_keeps_the_files_that_are_here(journal: SqlJournal) -> None:
    (done,) = await admit(journal, with_file("photo"))
    await journal.fetched(done.inbound_id, [HERE])
    caption = msgspec.structs.replace(
        edited("a cat", "photo"), attachments=(Attachment("image", ref="photo"),)
    )
    await admit(journal, msgspec.structs.replace(let_in(caption), awaiting_files=True))
    claimed = await claim(journal)
    (entry,) = [e.body for e in claimed.entries if isinstance(e.body, UserEntry)]
    assert (entry.text, entry.attachments) == ("a cat", (HERE,))


async def test_another_file_in_its_place_is_fetched(journal: SqlJournal) -> None:
    (done,) = await admit(journal, with_file("photo"))
    other = msgspec.structs.replace(
        edited("better", "photo"), attachments=(Attachment("image", ref="other"),)
    )
    await admit(journal, msgspec.structs.replace(let_in(other), awaiting_files=True))
    assert await journal.fetched(done.inbound_id, [HERE]) is None
    (waiting,) = await journal.unfetched("telegram")
    assert [file.ref for file in waiting.message.attachments] == ["other"]
    here = msgspec.structs.replace(HERE, ref="other")
    assert await journal.fetched(done.inbound_id, [here]) is not None
    claimed = await claim(journal)
    (entry,) = [e.body for e in claimed.entries if isinstance(e.body, UserEntry)]
    assert entry.attachments == (here,)


async def test_what_was_corrected_into_a_command_waits_no_longer(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("stauts"), said("second"))
    command = let_in(edited("/status", "stauts"))
    answer = notice(command.message, "All is well.")
    await journal.admit("telegram", [msgspec.structs.replace(command, answer=answer)], None, 50)
    await claim(journal)
    assert await texts(home) == [("second", False)]
    assert await states(home) == ["settled", "taken", "settled"]


async def test_somebody_elses_words_are_not_withdrawn_by_a_command(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said("mine"))
    command = let_in(edited("/status", "mine", BEN))
    answer = notice(command.message, "All is well.")
    await journal.admit("telegram", [msgspec.structs.replace(command, answer=answer)], None, 50)
    await claim(journal)
    assert await texts(home) == [("mine", False)]


TOO_LATE = "This edit came too late. Send it again if you want an answer."


async def dropped(journal: SqlJournal) -> None:
    """/stop drops what waits."""
    await begun(journal, "r0")
    await admit(journal, said("helo"))
    await journal.admit("telegram", [stop_order(everyone=True)], None, 50)


async def refused(journal: SqlJournal) -> None:
    """Too many wait already."""
    await admit(journal, said("before"))
    await admit(journal, said("helo"), lane_limit=1)


async def withdrawn(journal: SqlJournal) -> None:
    """Its sender deleted it, and the platform brings an edit of before."""
    await admit(journal, said("helo"), deleted("helo"))


async def stopped(journal: SqlJournal) -> None:
    """Its run was stopped, and gave no answer."""
    await admit(journal, said("helo"))
    await claim(journal)
    await journal.admit("telegram", [stop_order(everyone=True)], None, 50)


async def told_at_once(journal: SqlJournal) -> None:
    """It was settled with a notice, as from somebody who is not let in."""
    message = let_in(said("helo"))
    answer = notice(message.message, "This assistant is private.")
    await journal.admit("telegram", [msgspec.structs.replace(message, answer=answer)], None, 50)


@pytest.mark.parametrize(
    "end", [dropped, refused, withdrawn, stopped, told_at_once], ids=lambda end: end.__name__
)
async def test_nobody_is_told_of_an_answer_that_there_never_was(
    end: Callable[[SqlJournal], Awaitable[None]], home: Home
) -> None:
    journal = home.journal()
    await end(journal)
    await admit(journal, edited("hello", "helo"))
    bodies = await home.column("SELECT body FROM outbound WHERE key LIKE 'edited:%'")
    assert [TOO_LATE.encode() in bytes(body) for body in bodies] == [True]
