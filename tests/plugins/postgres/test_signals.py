"""What processes tell each other, as it goes over the wire."""

from __future__ import annotations

from nanobot.messages import Address, EventKind, RunEvent
from nanobot.plugins.postgres.processes.signals import (
    Emitted,
    Owed,
    Packer,
    Signal,
    Unpacker,
    Woken,
    brief,
)
from nanobot.plugins.postgres.store.notices import MAX_BYTES
from nanobot.session.states import RunKind

OWED = Owed("telegram", "1")


def ended(text: str) -> RunEvent:
    return RunEvent(
        run_id="r1",
        session_key="telegram:1",
        model_call=1,
        seq=3,
        kind=EventKind.END,
        at=1.0,
        payload={"state": "completed", "text": text, "message_ids": ["7"]},
    )


def passed_on(signals: list[Signal], *, lost: int | None = None) -> list[Signal]:
    """What arrives of them, but for the notice that is lost."""
    unpacker, heard = Unpacker(), []
    for number, text in enumerate(Packer("a1b2", MAX_BYTES).packed(signals)):
        assert len(text.encode()) <= MAX_BYTES
        if number != lost:
            sender, some = unpacker.unpacked(text)
            assert sender == "a1b2"
            heard += some
    return heard


def test_many_signals_fit_into_few_notices() -> None:
    woken: list[Signal] = [
        Woken(f"telegram:{number}", RunKind.CHAT, number, 0.0, free=True) for number in range(1000)
    ]
    assert passed_on(woken) == woken
    assert len(list(Packer("a1b2", MAX_BYTES).packed(woken))) < 12


def test_a_long_answer_arrives_whole_whatever_is_in_it() -> None:
    for text in ("€" * 30_000, '"\\\n\x01' * 9_000, "\N{PARTY POPPER}" * 9_000):
        assert passed_on([OWED, Emitted(ended(text)), OWED]) == [OWED, Emitted(ended(text)), OWED]


def test_of_an_answer_with_a_lost_piece_nothing_arrives_and_what_follows_does() -> None:
    long = Emitted(ended("x" * 30_000))
    notices = list(Packer("a1b2", MAX_BYTES).packed([long]))
    for lost in range(len(notices)):
        assert passed_on([long, OWED], lost=lost) in ([OWED], [])
    assert passed_on([long, OWED, long], lost=1)[-1] == long


def test_what_a_newer_version_says_is_left_out() -> None:
    unpacker = Unpacker()
    newer = '["a1b2",[["zz",1,2],["o","telegram","1"],["o"],3]]'
    assert unpacker.unpacked(newer) == ("a1b2", [OWED])
    for strange in ("", "[]", "{", '{"a":1}', '["a",3]'):
        assert unpacker.unpacked(strange) == ("", [])


def test_who_does_not_watch_a_session_gets_keys_and_no_text() -> None:
    event = RunEvent(
        run_id="r1",
        session_key="telegram:1",
        model_call=0,
        seq=1,
        kind=EventKind.TOOL_RESULT,
        at=1.0,
        payload={"address": Address("telegram", "1"), "text": "x" * 500, "ok": True},
    )
    assert len(brief(event).payload["text"]) == 200
    assert brief(ended("secret")).payload == {"state": "completed", "message_ids": ["7"]}
