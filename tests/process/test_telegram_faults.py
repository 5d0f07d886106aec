"""A Telegram in trouble, between a gateway that goes on and people who still get their answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from tests.process.harness import PATIENCE, World

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("status", [500, 502])
async def test_an_answer_outlasts_server_errors(shared: World, chat: int, status: int) -> None:
    fault = shared.telegram.fail("sendMessage", chat=chat, status=status, times=2)
    shared.telegram.say(chat, "say:at last")
    await shared.said(chat, "at last")
    assert fault.hits == 2


async def test_flood_control_is_obeyed_with_one_message_at_its_end(
    shared: World, chat: int
) -> None:
    fault = shared.telegram.fail("sendMessage", chat=chat, status=429, retry_after=1, seconds=0.9)
    shared.telegram.say(chat, "say:patient")
    await shared.said(chat, "patient")
    assert fault.hits == 1


async def test_a_connection_cut_before_the_effect_gives_one_message_that_may_be_a_repeat(
    shared: World, chat: int
) -> None:
    shared.telegram.fail("sendMessage", chat=chat, drop="before", times=1)
    shared.telegram.say(chat, "say:once")
    await shared.said(chat, f"once\n\n{REPEAT_LINE}")


async def test_a_connection_cut_after_the_effect_gives_exactly_one_marked_repeat(
    shared: World, chat: int
) -> None:
    shared.telegram.fail("sendMessage", chat=chat, drop="after", times=1)
    shared.telegram.say(chat, "say:twice")
    await shared.said(chat, "twice", f"twice\n\n{REPEAT_LINE}")
    shared.telegram.say(chat, "say:next")
    await shared.said(chat, "twice", f"twice\n\n{REPEAT_LINE}", "next")


async def test_an_answer_that_cannot_be_read_counts_as_unknown(shared: World, chat: int) -> None:
    shared.telegram.fail("sendMessage", chat=chat, body=b"<html>gateway</html>", times=1)
    shared.telegram.say(chat, "say:odd")
    await shared.said(chat, "odd", f"odd\n\n{REPEAT_LINE}")


async def test_a_person_who_blocked_the_bot_costs_nobody_else_anything(
    shared: World, chat: int, chats: Iterator[int]
) -> None:
    shared.telegram.block(chat)
    shared.telegram.say(chat, "say:nobody hears this")
    other = next(chats)
    shared.telegram.say(other, "say:heard")
    await shared.said(other, "heard")
    await shared.eventually(lambda: f"telegram:{chat}: 1 message(s) undeliverable" in shared.log)

    shared.telegram.unblock(chat)
    shared.telegram.say(chat, "say:back again")
    await shared.said(chat, "back again")


async def test_refused_formatting_goes_out_as_plain_text(shared: World, chat: int) -> None:
    text = "Bad Request: can't parse entities"
    shared.telegram.fail("sendMessage", chat=chat, times=1, status=400, description=text)
    shared.telegram.say(chat, "say:a **bold** word")
    await shared.answered(chat)
    (message,) = shared.telegram.messages(chat)
    assert "bold" in message.text
    assert message.entities == []


async def test_a_message_refused_for_good_does_not_hold_up_the_next(
    shared: World, chat: int
) -> None:
    fault = shared.telegram.fail("sendMessage", chat=chat, status=400, times=2)
    shared.telegram.say(chat, "say:refused")
    await shared.telegram.until(lambda: fault.hits == 2, PATIENCE)
    shared.telegram.say(chat, "say:taken")
    await shared.said(chat, "taken")


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 409, "description": "Conflict: terminated by other getUpdates request"},
        {"status": 500},
        {"status": 429, "retry_after": 1},
        {"body": b"<html>garbage</html>"},
        {"body": b'{"ok": true, "result": {"no": "list"}}'},
        {"body": b'{"ok": true, "result": [null, 7, {"update_id": "x"}]}'},
        {"drop": "before"},
    ],
    ids=["409", "500", "429", "garbage", "no-list", "no-updates", "cut"],
)
async def test_a_poll_in_trouble_loses_no_message(
    shared: World, chat: int, fault: dict[str, Any]
) -> None:
    trouble = shared.telegram.fail("getUpdates", times=1, **fault)
    shared.telegram.say(chat, "say:one")
    await shared.said(chat, "one")
    await shared.telegram.until(lambda: trouble.hits == 1, PATIENCE)
    shared.telegram.say(chat, "say:two")
    await shared.said(chat, "one", "two")


async def test_an_update_delivered_twice_is_answered_once(shared: World, chat: int) -> None:
    update = shared.telegram.say(chat, "say:once")
    await shared.said(chat, "once")
    again = json.dumps({"ok": True, "result": [update]}).encode()
    fault = shared.telegram.fail("getUpdates", body=again, times=1)
    shared.telegram.say(chat, "say:two")
    await shared.telegram.until(lambda: fault.hits == 1, PATIENCE)
    shared.telegram.push(message=update["message"])
    await shared.said(chat, "once", "two")
    shared.telegram.say(chat, "say:three")
    await shared.said(chat, "once", "two", "three")
