"""Which answers are to be spoken is kept with them, on every store."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.messages import Attachment, InboundMessage, Origin, OutboundMessage
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.voice.settings import VoiceSettings
from nanobot.plugins.voice.store import SqlVoiceAnswers, SqlVoiceHook
from nanobot.session.auxiliary import NoReservation
from nanobot.session.runs import Claim
from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.unit import StoreContext, StoreHooks
from tests.store.home import Home
from tests.store.making import CHAT, admit, answered, claim, ending, said

CALL = NoReservation(0)


def voiced(home: Home, answers: Literal["on", "always"] = "always") -> SqlJournal:
    """A process that has answers spoken."""
    settings = VoiceSettings(answers=answers, model="m")
    lease = 600.0 if home.shared else None
    hooks = store_hooks(brought=lambda _: StoreHooks(ends=(SqlVoiceHook(settings),)))
    return SqlJournal(home.database, StoreContext(home.clock, home.ids, "us", lease, hooks))


def store_of(home: Home) -> SqlVoiceAnswers:
    lease = 600.0 if home.shared else None
    return SqlVoiceAnswers(home.database, StoreContext(home.clock, home.ids, "speaker", lease))


async def begun(journal: SqlJournal, message: InboundMessage, run_id: str = "run") -> Claim:
    await admit(journal, message)
    return await claim(journal, run_id)


def recording(text: str) -> InboundMessage:
    file = Attachment("audio", blob="b", text=text)
    return msgspec.structs.replace(said("listen"), attachments=(file,))


async def test_an_answer_is_taken_by_one_and_settled_with_its_voice_message(home: Home) -> None:
    journal, store = voiced(home), store_of(home)
    await answered(journal, await begun(journal, said("hello")), "hi")
    owed = await store.take()
    assert owed is not None
    assert (owed.answer.text, owed.attempts) == ("hi", 0)
    assert await store.take() is None
    message = OutboundMessage(address=CHAT, text="", key="voice")
    await store.made(owed, message, CALL)
    await store.made(owed, message, CALL)
    states = await home.rows("SELECT key, state, run_id FROM outbound ORDER BY id")
    assert [state for _, state, _ in states] == ["pending", "pending"]
    assert states[1] == ("voice", "pending", "run")
    assert await home.rows("SELECT * FROM voice_answers") == []


async def test_whoever_died_over_it_leaves_it_to_the_next(home: Home) -> None:
    journal, store = voiced(home), store_of(home)
    await answered(journal, await begun(journal, said("hello")), "hi")
    assert await store.take() is not None
    if home.shared:
        home.clock.advance(301)
    else:
        await store.recover()
    again = await store.take()
    assert again is not None
    assert again.attempts == 1


@pytest.mark.parametrize(
    ("message", "due"),
    [(said("written"), False), (recording("words"), True), (recording(""), False)],
    ids=["text", "voice", "a recording that nobody could hear"],
)
async def test_answers_to_what_was_said_aloud_are_spoken(
    home: Home, message: InboundMessage, *, due: bool
) -> None:
    journal, store = voiced(home, "on"), store_of(home)
    await answered(journal, await begun(journal, message), "hi")
    assert (await store.take() is not None) == due


async def test_what_fails_goes_unasked_or_to_one_person_is_not_spoken(home: Home) -> None:
    journal, store = voiced(home), store_of(home)
    claimed = await begun(journal, said("a"), "r1")
    whole = ending("x", run_id=claimed.run.id)
    failed = msgspec.structs.replace(whole, state=RunState.FAILED)
    await journal.finish(claimed.lane, claimed.run, failed)
    kinds: tuple[dict[str, Any], ...] = ({"only_for": "1001"}, {"direct": True}, {"failed": True})
    for number, fields in enumerate(kinds):
        claimed = await begun(journal, said(f"b{number}"), f"s{number}")
        whole = ending("x", run_id=claimed.run.id)
        changed = tuple(msgspec.structs.replace(m, **fields) for m in whole.outbound)
        hidden = msgspec.structs.replace(whole, outbound=changed)
        await journal.finish(claimed.lane, claimed.run, hidden)
    by_program = said("c", origin=Origin.API)
    await answered(journal, await begun(journal, by_program, "t"), "x")
    assert await store.take() is None


async def test_a_failure_is_told_once_a_chat_until_a_voice_message_is_made(home: Home) -> None:
    journal, store = voiced(home), store_of(home)
    outcomes = []
    for number in range(4):
        await answered(journal, await begun(journal, said(f"q{number}"), f"r{number}"), "hi")
        owed = await store.take()
        assert owed is not None
        note = OutboundMessage(address=CHAT, text="mute", key=f"note{number}")
        if number == 2:
            await store.made(owed, note, CALL)
        else:
            outcomes.append(await store.failed(owed, note, CALL))
    assert outcomes == [True, False, True]


async def test_of_a_deleted_conversation_nothing_is_spoken(home: Home) -> None:
    journal, store = voiced(home), store_of(home)
    await answered(journal, await begun(journal, said("hello")), "hi")
    await home.execute("DELETE FROM outbound")
    assert await store.take() is None
    assert await home.rows("SELECT * FROM voice_answers") == []


@pytest.mark.parametrize("body", [b"\xff{", b"[]", b""])
async def test_an_answer_that_cannot_be_read_keeps_no_other_from_being_spoken(
    home: Home, body: bytes
) -> None:
    journal, store = voiced(home), store_of(home)
    for number in range(2):
        await answered(journal, await begun(journal, said(f"q{number}"), f"r{number}"), "hi")
        home.clock.advance(1.0)
    rotten = sa.update(schema.outbound).where(schema.outbound.c.run_id == "r0")
    await home.do(lambda connection: connection.execute(rotten.values(body=body)))
    owed = await store.take()
    assert owed is not None
    assert owed.run_id == "r1"
    assert await store.take() is None
    assert await home.column("SELECT run_id FROM voice_answers ORDER BY at") == ["r0", "r1"]
