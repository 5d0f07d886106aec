"""kill -9 while the model is asked again about an answer: it is asked once, and answers once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from nanobot.session.entries import ModelCallEntry, ObjectionEntry, ReplyEntry
from tests.doubles.openai_server import Answer, Body
from tests.process.harness import World, without_repeats

CHAT = "telegram:1"
FALSE, TRUE = "I've sent the email to Claire.", "I cannot send e-mail here."
ON = "[claims]\nask_again = true\n"
QUICK = "record_result:after"
LOST = (
    *("start_model:1:after", "record_result:before", "start_model:2:after", "finish:before"),
    "begin_send:before",  # one transaction with finish
)
"""Here a reply of the model is lost, and asked for once more."""


def points() -> Iterator[Any]:
    """Before and after each verb on the way; the first start_model is that of the first answer."""
    for verb in ("start_model:1", "record_result", "start_model:2", "finish", "begin_send"):
        for when in ("before", "after"):
            point = f"{verb}:{when}"
            marks = () if point in (QUICK, "start_model:2:after") else pytest.mark.slow
            yield pytest.param(point, marks=marks)


def answers(body: Body) -> Answer:
    told = any("no call of this run" in str(each["content"]) for each in body["messages"])
    return Answer(TRUE if told else FALSE)


@pytest.mark.parametrize("point", [*points()])
async def test_a_kill_while_the_model_is_asked_again_repeats_and_skips_nothing(
    world: World, point: str
) -> None:
    world.configure(agent='remember = "off"\nrecall = "off"', more=ON)
    world.model.script = answers
    world.telegram.say(1, "Write to Claire")
    await (await world.launch(crash_at=point)).died()
    gateway = await world.start()
    await world.answered(1)
    await world.delivered()
    replayed = await world.run("runs", "replay", "--all")
    assert (replayed.code, "no difference" in replayed.output) == (0, True), replayed
    assert await gateway.stop() == 0

    assert without_repeats(world.texts(1)) == [TRUE]
    log = world.entries(CHAT)
    assert [body.text for body in log if isinstance(body, ReplyEntry)] == [FALSE, TRUE]
    assert sum(isinstance(body, ObjectionEntry) for body in log) == 1
    made = sum(isinstance(body, ModelCallEntry) for body in log)
    assert made == (3 if point in LOST else 2)
    assert world.rows("SELECT count(*) FROM model_call_costs WHERE state = 'open'") == [(0,)]
    world.verify()


async def test_the_mark_is_shown_by_the_command_line(world: World) -> None:
    world.configure(agent='remember = "off"\nrecall = "off"')
    world.model.script = answers
    gateway = await world.start()
    world.telegram.say(1, "Write to Claire")
    await world.said(1, FALSE)
    await world.delivered()
    (run_id,) = json.loads((await world.run("runs", "list", "--json")).output)
    shown = await world.run("runs", "show", run_id["id"])
    assert f'! claims: The answer says "{FALSE}" (sent), but no call of this run' in shown.output
    shown = await world.run("runs", "show", run_id["id"], "--json")
    assert len(json.loads(shown.output)["remarks"]) == 1
    assert len(world.model.requests) == 1
    assert await gateway.stop() == 0
