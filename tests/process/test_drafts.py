"""Drafts on Telegram: an answer grows where nothing of it remains, and comes once."""

from __future__ import annotations

import json

import pytest

from tests.doubles.openai_server import Answer
from tests.process.harness import PATIENCE, Nanobot, World
from tests.sampling import few

CHAT = 1
ANSWER = "one two three four five six seven eight"
SLOWLY = f"pace:0.4\nsay:{ANSWER}"


async def drafted(world: World, text: str, chat: int = CHAT) -> None:
    """Wait until a draft shows this."""
    drafts = world.telegram.native.drafts

    def shows() -> bool:
        return any(text in version for draft in drafts.get(chat, []) for version in draft.versions)

    await world.telegram.until(shows, PATIENCE)


async def test_an_answer_grows_in_a_draft_and_is_one_message(world: World) -> None:
    gateway = await world.start()
    listing = json.dumps({"command": "sleep 2"})
    world.telegram.say(CHAT, f"wait:1.5\npace:0.4\ntool:exec:{listing}\nsay:{ANSWER}")
    await world.said(CHAT, ANSWER)
    (draft,) = world.telegram.native.drafts[CHAT]
    assert draft.versions[0] == "Thinking..."
    assert "exec: sleep 2" in draft.versions
    grown = [text for text in draft.versions if ANSWER.startswith(text.strip())]
    assert grown == sorted(set(grown), key=len)
    assert world.telegram.calls_of("editMessageText") == []
    assert world.telegram.native.draft_in(CHAT) is None
    await world.rests(gateway)
    assert world.rows("SELECT state FROM outbound") == [("sent",)]


async def test_the_button_below_a_draft_stops_the_answer_and_what_stood_there_stays(
    world: World, gateway: Nanobot
) -> None:
    world.telegram.say(CHAT, SLOWLY)
    await drafted(world, "one two")
    world.telegram.native.stop(CHAT)
    (text,) = await world.answered(CHAT)
    assert text.startswith("one two")
    assert text.endswith("\n\n[stopped]")
    world.telegram.say(CHAT, "say:next")
    await world.said(CHAT, text, "next")
    await world.rests(gateway)


@pytest.mark.parametrize(
    "point", few(["finish:before", "begin_send:before", "begin_send:after"], 1)
)
async def test_a_kill_while_a_draft_stands_leaves_one_answer(world: World, point: str) -> None:
    world.telegram.say(CHAT, SLOWLY)
    crashing = await world.launch(crash_at=point)
    await drafted(world, "one")
    await crashing.died()
    gateway = await world.start()
    (text,) = await world.answered(CHAT)
    assert text.startswith(ANSWER)
    assert (text == ANSWER) == (point != "begin_send:after")  # there it is unknown whether it went
    await world.rests(gateway)


async def test_a_table_streams_as_a_table_and_an_older_server_gets_both_the_older_way(
    world: World,
) -> None:
    table = "| Host | State |\n|---|---|\n| nas | ok |"
    await world.start()
    world.model.script = lambda _body: Answer(table, pace=0.2)
    world.telegram.say(CHAT, "hosts?")
    assert await world.answered(CHAT) == ["Host | State\nnas | ok"]
    world.telegram.native.off = True
    world.telegram.say(2, "hosts?")
    await world.telegram.until(lambda: world.texts(2) == ["Host | State\n-----+------\nnas  | ok"])
    assert len(world.telegram.messages(2)) == 1


async def test_a_stop_pressed_late_or_twice_stops_once_and_says_so_once(world: World) -> None:
    gateway = await world.start()
    telegram = world.telegram
    telegram.say(CHAT, SLOWLY)
    await drafted(world, "one two")
    stop = telegram.native.stop(CHAT)["stopped_message_generation"]
    telegram.push(stopped_message_generation=stop)
    (stopped,) = await world.answered(CHAT)
    assert stopped.endswith("\n\n[stopped]")
    telegram.say(CHAT, "say:whole")
    await world.said(CHAT, stopped, "whole")
    telegram.push(stopped_message_generation=stop | {"draft_id": 1})  # of an answer that is there
    telegram.push(what_nobody_knows={"chat": {"id": CHAT}})
    telegram.say(CHAT, "say:next")
    await world.said(CHAT, stopped, "whole", "next")
    await world.rests(gateway)


async def test_on_an_older_server_a_long_answer_leaves_nothing_of_its_preview(world: World) -> None:
    world.telegram.native.off = True
    gateway = await world.start()
    words = [f"w{number} " for number in range(1_200)]
    world.model.script = lambda _body: Answer("".join(words), chunks=words, pace=0.003)
    world.telegram.say(CHAT, "go on")

    def whole() -> bool:
        shown = " ".join(world.texts(CHAT))
        return shown.split() == "".join(words).split()

    await world.telegram.until(whole, PATIENCE)
    assert world.telegram.calls_of("editMessageText")
    assert len(world.texts(CHAT)) == 2
    await world.rests(gateway)
    assert world.rows("SELECT state FROM outbound") == [("sent",)]
