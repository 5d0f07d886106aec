"""Limits: of runs, of lanes, of tools. Whoever meets one is told, with what there is."""

from __future__ import annotations

import itertools
import json

from nanobot.session.entries import ToolResultEntry
from tests.doubles.openai_server import Answer, Fault
from tests.process.harness import PATIENCE, World, without_repeats


def restless(world: World) -> None:
    """Let the model say something and call a tool, for ever, each time with other arguments."""
    numbers = itertools.count(1)
    world.model.script = lambda body: Answer(
        "so far", tool_calls=[("list_dir", json.dumps({"path": f"none{next(numbers)}"}))]
    )


async def test_the_limit_of_model_calls_delivers_what_there_is_naming_it(world: World) -> None:
    restless(world)
    await world.start(NANOBOT_AGENT__MAX_ITERATIONS="3")
    world.telegram.say(1, "go")
    line = "(I stopped here: the limit of 3 model calls.)"
    await world.said(1, f"so far\n\n{line}")
    assert len(world.model.requests) == 3


async def test_the_limit_of_tool_rounds_delivers_what_there_is_naming_it(world: World) -> None:
    restless(world)
    await world.start(NANOBOT_AGENT__MAX_TOOL_ROUNDS="2")
    world.telegram.say(1, "go")
    line = "(I stopped here: the limit of 2 rounds of tools.)"
    await world.said(1, f"so far\n\n{line}")


async def test_the_limit_of_seconds_cuts_a_hanging_model_and_names_it(world: World) -> None:
    world.model.fail_with(Fault(hang_after=2, answer=Answer(chunks=("as far", " as it went"))))
    gateway = await world.start(NANOBOT_AGENT__MAX_RUN_SECONDS="1")
    world.telegram.say(1, "go")
    line = "(I stopped here: the limit of 1 seconds.)"
    await world.said(1, f"as far\n\n{line}")
    world.telegram.say(1, "say:next")
    await world.answered(1, 2)
    assert world.texts(1)[1] == "next"
    await world.rests(gateway)


async def test_the_limit_of_seconds_ends_a_command_too(world: World) -> None:
    command = json.dumps({"command": "sleep 300.5"})
    await world.start(NANOBOT_AGENT__MAX_RUN_SECONDS="1")
    world.telegram.say(1, f"tool:exec:{command}")
    await world.said(1, "(I stopped here: the limit of 1 seconds.)")
    assert not world.processes("sleep", "300.5")


async def test_a_sender_past_the_lane_s_limit_is_told_and_the_rest_is_answered(
    world: World,
) -> None:
    world.configure(agent="lane_limit = 2")
    world.model.fail_with(Fault(hang=True))
    gateway = await world.start()
    world.telegram.say(1, "say:first")
    await world.asked()
    updates = [world.telegram.say(1, f"say:{number}") for number in range(4)]
    await world.acknowledged(updates[-1])
    await world.answered(1, 2)
    await world.delivered()
    await gateway.kill()

    gateway = await world.start()
    await world.telegram.until(lambda: "first" in world.texts(1) and "1" in world.texts(1))
    assert await gateway.stop() == 0
    texts = without_repeats(world.texts(1))
    assert all(text.startswith("I did not take this message: 2 are waiting") for text in texts[:2])
    assert texts[2:] == ["first", "1"]
    world.verify()


async def test_queued_messages_do_not_steer(world: World) -> None:
    world.configure(agent='when_busy = "queue"')
    gateway = await world.start()
    await world.say_during_a_command(1, "say:second", "say:first")
    await world.said(1, "first", "second")
    await world.rests(gateway)


async def test_without_a_sandbox_a_command_waits_for_a_person_s_word(world: World) -> None:
    world.configure(more='[tools.exec]\nsandbox = "off"')
    gateway = await world.start()
    command = json.dumps({"command": "echo x >> effects"})
    world.telegram.say(1, f"tool:exec:{command}\nsay:told")
    (question,) = await world.answered(1)
    assert "without a sandbox" in question
    assert not (world.workspace / "effects").exists()
    world.telegram.say(1, "/approve 1")
    await world.telegram.until(lambda: world.texts(1)[-1] == "told", PATIENCE)
    assert (world.workspace / "effects").read_text() == "x\n"
    assert await gateway.stop() == 0
    (result,) = [b for b in world.entries("telegram:1") if isinstance(b, ToolResultEntry)]
    assert result.ok
