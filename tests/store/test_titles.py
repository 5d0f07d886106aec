"""The title of a session, and what a run is about."""

from __future__ import annotations

import pytest

from nanobot.messages import Address, OutboundKind, OutboundMessage, Role
from nanobot.session.inbox import Admission
from nanobot.text import first_sentence
from tests.store.home import Home
from tests.store.making import CHAT, KEY, admit, answered, claim, said
from tests.stored import lists_of, runs_of

OTHER = "telegram:8"


async def begin(home: Home, text: str, session: str = KEY, run: str = "r1") -> None:
    home.clock.advance(1)
    address = Address("telegram", session.partition(":")[2])
    await admit(home.journal(), said(text, address=address, key=run), session_key=session)
    claimed = await claim(home.journal(), run, session)
    await answered(home.journal(), claimed, "fine", address=address)


async def title(home: Home, session: str = KEY) -> str:
    row = await lists_of(home.records()).one(session)
    assert row is not None
    return row.title


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where is the station? I am late.", "Where is the station?"),
        ("明天下雨吗?我要出门。", "明天下雨吗?我要出门。"),
        ("明天下雨。我要出门。", "明天下雨。"),
        ("Version 3.11 is out", "Version 3.11 is out"),
        ("\n\n  one\ntwo", "one"),
        ("word " * 30, "word word word word word word word word word word word word…"),
        ("x" * 100, f"{'x' * 59}…"),
        ("", ""),
    ],
)
def test_the_first_sentence_is_cut_at_its_end_or_at_a_word(text: str, expected: str) -> None:
    assert first_sentence(text, 60) == expected


async def test_a_session_is_called_after_the_first_sentence_of_its_first_message(
    home: Home,
) -> None:
    await begin(home, "Where is the station? I am late, and it rains.")
    await begin(home, "Another question.", run="r2")
    assert await title(home) == "Where is the station?"


async def test_a_command_is_no_title_and_the_first_message_behind_it_is(home: Home) -> None:
    order = Admission(
        message=said("/start"),
        session_key=KEY,
        role=Role.OWNER,
        answer=OutboundMessage(address=CHAT, text="Hi", kind=OutboundKind.NOTICE, key="n"),
    )
    await admit(home.journal(), order)
    assert await title(home) == ""
    await begin(home, "Where is the station?")
    assert await title(home) == "Where is the station?"


async def test_erasing_the_first_message_takes_the_title_that_was_made_of_it(home: Home) -> None:
    await begin(home, "The code is 4711. Keep it.")
    await home.eraser().erase(KEY, 1, "me")
    assert await title(home) == ""
    await begin(home, "Something else.", run="r2")
    assert await title(home) == "Something else."


async def test_a_title_of_an_earlier_build_goes_with_its_message_too(home: Home) -> None:
    text = "The code is 4711. " * 10
    await begin(home, text)
    await home.execute("UPDATE sessions SET title = :t", t=text[:60])
    await home.eraser().erase(KEY, 1, "me")
    assert await title(home) == ""


async def test_a_run_says_what_it_is_about(home: Home) -> None:
    await begin(home, "Where is the station? I am late.")
    (run,) = await runs_of(home.records()).listed(session=KEY, state="", limit=5)
    assert run.about == "Where is the station?"
    await home.eraser().erase(KEY, 1, "me")
    (run,) = await runs_of(home.records()).listed(session=KEY, state="", limit=5)
    assert run.about == ""
