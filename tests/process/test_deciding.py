"""Who is asked, who may press what, and what stands in every chat once it is decided."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.doubles.openai_server import error_status
from tests.process.harness import MEMBERS, World

OWNER, OTHER, MEMBER, STRANGER = 1, 2, MEMBERS[0], 999
GROUP = -500


def buttons(world: World, chat: int, at: int = -1) -> list[str]:
    markup = world.telegram.messages(chat)[at].params.get("reply_markup")
    shown = json.loads(markup) if isinstance(markup, str) else markup or {}
    return [button["text"] for row in shown.get("inline_keyboard", []) for button in row]


async def shows(world: World, chat: int, at: int, text: str) -> None:
    await world.telegram.until(lambda: text in world.texts(chat)[at], 10.0)


@pytest.fixture
async def asking(world: World) -> World:
    """A member's command waits; two owners were asked."""
    world.configure()
    await world.start()
    for owner in (OWNER, OTHER):
        world.telegram.say(owner, "say:hello")
        await world.answered(owner, 1)
    call = json.dumps({"command": "echo hello"})
    world.telegram.say(MEMBER, f"tool:exec:{call}\nsay:done")
    for chat, count in ((MEMBER, 1), (OWNER, 2), (OTHER, 2)):
        await world.answered(chat, count)
    return world


async def test_members_get_no_buttons_that_they_may_not_press(asking: World) -> None:
    assert buttons(asking, MEMBER) == []
    assert "The owners are asked" in asking.texts(MEMBER)[-1]
    assert buttons(asking, OWNER) == buttons(asking, OTHER) == ["Approve", "Deny", "Always here"]


@pytest.mark.parametrize(("command", "word"), [("approve", "approved"), ("deny", "denied")])
async def test_once_decided_every_chat_says_by_whom_and_has_no_buttons(
    asking: World, command: str, word: str
) -> None:
    asking.telegram.say(OWNER, f"/{command} 1")
    for chat, at in ((MEMBER, 0), (OWNER, 1), (OTHER, 1)):
        await shows(asking, chat, at, f"\n\n{word.capitalize()} by")
        assert buttons(asking, chat, at) == []
        assert "echo hello" in asking.texts(chat)[at]
    assert len(asking.texts(OTHER)) == 2


async def test_a_kill_before_the_chats_were_told_loses_nothing(asking: World) -> None:
    asking.telegram.fail("editMessageText", seconds=60.0, status=500, description="x")
    asking.telegram.say(OWNER, "/deny 1")
    await asking.telegram.called("editMessageText")
    (process,) = asking.processes_started
    await process.kill()
    asking.telegram.heal()
    await asking.start()
    for chat, at in ((MEMBER, 0), (OWNER, 1), (OTHER, 1)):
        await shows(asking, chat, at, "\n\nDenied by")


async def test_the_reason_why_a_model_fails_is_for_owners_alone(world: World) -> None:
    world.configure(more='groups = "all"')
    await world.start()
    key = "Incorrect API key provided: sk-abcd****wxyz"
    for chat, sender in ((MEMBER, MEMBER), (GROUP, OWNER)):
        world.model.fail_with(*[error_status(401, key)] * 3)
        world.telegram.say(chat, "hello", sender=sender)
        (text,) = await world.answered(chat, 1)
        assert "401" not in text
        assert "sk-" not in text
        assert "API key" not in text
        assert re.search(r"log, at run [0-9a-z]{26};", text), text
        world.model.faults.clear()
    world.model.fail_with(*[error_status(401, key)] * 3)
    world.telegram.say(OWNER, "hello")
    (text,) = await world.answered(OWNER, 1)
    assert "refuse" in text or "key" in text


async def failed_in(world: World, chat: int) -> None:
    await world.eventually(lambda: any("could not answer" in text for text in world.texts(chat)))


async def test_the_reason_why_a_job_in_a_group_fails_is_not_told_there(world: World) -> None:
    world.configure(more='groups = "all"')
    await world.start()
    key = "Incorrect API key provided: sk-abcd****wxyz"
    for chat in (GROUP, OWNER):
        world.telegram.say(chat, "say:hello", sender=OWNER)
        await world.answered(chat, 1)
    for chat in (GROUP, OWNER):
        world.model.fail_with(*[error_status(401, key)] * 3)
        world.telegram.say(chat, "/cron add +1s say the time", sender=OWNER)
        await failed_in(world, chat)
        world.model.faults.clear()
    texts = "\n".join(world.texts(GROUP))
    for secret in ("401", "sk-", "API key", "refuse"):
        assert secret not in texts
    assert "log, at run" in texts
    assert "401" in (text := "\n".join(world.texts(OWNER))) or "key" in text


async def test_an_owner_is_told_that_a_stranger_asks_and_lets_them_in_with_a_button(
    world: World,
) -> None:
    world.configure()
    await world.start()
    world.telegram.say(OWNER, "say:hello")
    await world.answered(OWNER, 1)
    name = "Eve *the* [owner](x)\n/approve 1"
    eve: dict[str, Any] = {"from": {"id": STRANGER, "is_bot": False, "first_name": name}}
    for _ in range(3):
        world.telegram.say(STRANGER, "hello", **eve)
    await world.answered(OWNER, 2)
    text = world.texts(OWNER)[-1]
    assert f"telegram:{STRANGER}" in text
    assert "\n/approve" not in text
    assert buttons(world, OWNER) == ["Let in", "As guest", "Refuse"]
    world.telegram.press(world.telegram.messages(OWNER)[-1], "Let in")
    await world.answered(STRANGER, 2)
    world.telegram.say(STRANGER, "say:I am in")
    assert (await world.answered(STRANGER, 3))[-1] == "I am in"
    assert len(world.texts(OWNER)) == 3


async def test_whom_an_owner_refuses_is_not_told_of_again_and_a_flood_is_told_once(
    world: World,
) -> None:
    world.configure()
    await world.start()
    world.telegram.say(OWNER, "say:hello")
    await world.answered(OWNER, 1)
    world.telegram.say(STRANGER, "hello")
    await world.answered(OWNER, 2)
    world.telegram.press(world.telegram.messages(OWNER)[-1], "Refuse")
    await world.answered(OWNER, 3)
    for number in range(STRANGER, STRANGER + 30):
        world.telegram.say(number, "hello")
    for number in range(STRANGER + 1, STRANGER + 30):
        await world.answered(number, 1)
    texts = [text for text in world.texts(OWNER) if "requests access" in text]
    assert not [text for text in texts[1:] if f"telegram:{STRANGER})" in text]
    assert len(texts) <= 5
    assert any("/pair list" in text for text in world.texts(OWNER)[3:])


async def test_a_job_that_runs_more_often_than_once_a_minute_asks_first(world: World) -> None:
    world.configure()
    await world.start()
    for count, (schedule, asks) in enumerate(
        [("every 10 seconds", True), ("every 59 seconds", True), ("* * * * *", False)], 1
    ):
        call = {"action": "add", "schedule": schedule, "message": "look"}
        world.telegram.say(count, f"tool:cron:{json.dumps(call)}\nsay:done")
        (text,) = await world.answered(count, 1)
        assert text.startswith("May I do this?") is asks, text
