"""kill -9 in the middle of an effect: a model call, a command, a send, a poll."""

from __future__ import annotations

import json
import signal

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.session.entries import CUT_OFF, ModelCallEntry, ToolResultEntry
from tests.doubles.openai_server import Fault
from tests.process.harness import PATIENCE, Nanobot, World

SLEEP = json.dumps({"command": "echo x >> effects; sleep 300"})
APPEND = json.dumps({"command": "echo x >> effects"})


async def stopped(world: World, gateway: Nanobot) -> None:
    await world.rests(gateway)


async def effects(world: World, count: int = 1) -> None:
    """Wait until commands have left so many marks."""
    file = world.workspace / "effects"
    await world.eventually(lambda: file.exists() and file.read_text().count("x") >= count)
    assert file.read_text().count("x") == count


async def test_a_model_call_that_was_cut_by_a_crash_is_made_again(world: World) -> None:
    world.model.fail_with(Fault(hang=True))
    gateway = await world.start()
    world.telegram.say(1, "say:hello")
    await world.asked()
    await gateway.kill()

    gateway = await world.start()
    await world.said(1, "hello")
    await stopped(world, gateway)
    assert len(world.model.requests) == 2


async def test_a_command_that_was_cut_by_a_crash_is_not_run_again(world: World) -> None:
    gateway = await world.start()
    world.telegram.say(1, f"tool:exec:{SLEEP}\nsay:checked")
    await effects(world)
    await gateway.kill()

    gateway = await world.start()
    await world.said(1, "checked")
    await stopped(world, gateway)
    await effects(world)
    (text,) = [b.text for b in world.entries("telegram:1") if isinstance(b, ToolResultEntry)]
    assert text.startswith("interrupted, outcome unknown")


async def test_a_crash_leaves_no_command_running(world: World, gateway: Nanobot) -> None:
    command = json.dumps({"command": "echo $$ > pid; sleep 300.125; true"})
    world.telegram.say(1, f"tool:exec:{command}")
    await world.eventually((world.workspace / "pid").exists)
    await world.eventually(lambda: bool(world.processes("sleep", "300.125")))
    await gateway.kill()
    await world.eventually(lambda: not world.processes("sleep", "300.125"))


async def test_calls_before_the_cut_one_are_not_made_again(world: World, gateway: Nanobot) -> None:
    calls = f"tool:exec:{APPEND}\ntool:exec:{SLEEP}"
    world.telegram.say(1, f"{calls}\nsay:checked")
    await effects(world, 2)
    await gateway.kill()

    gateway = await world.start()
    await world.said(1, "checked")
    await stopped(world, gateway)
    await effects(world, 2)
    results = [b for b in world.entries("telegram:1") if isinstance(b, ToolResultEntry)]
    assert [result.ok for result in results] == [True, False]


@pytest.mark.parametrize("call", [f"exec:{APPEND}", "list_dir:{}"])
async def test_a_recorded_reply_is_not_asked_for_again(world: World, call: str) -> None:
    world.telegram.say(1, f"tool:{call}\nsay:done")
    await (await world.launch(crash_at="record_reply:after")).died()
    assert len(world.model.requests) == 1

    gateway = await world.start()
    await world.said(1, "done")
    await stopped(world, gateway)
    assert len(world.model.requests) == 2
    # The start of the command was recorded with the reply: whether it ran is unknown.
    (result,) = [b for b in world.entries("telegram:1") if isinstance(b, ToolResultEntry)]
    assert result.text.startswith(CUT_OFF) == call.startswith("exec")
    assert not (world.workspace / "effects").exists()


async def test_an_answer_whose_send_had_begun_is_sent_without_asking_again(world: World) -> None:
    world.telegram.say(1, "say:done")
    await (await world.launch(crash_at="finish:after")).died()

    gateway = await world.start()
    await world.said(1, f"done\n\n{REPEAT_LINE}")
    await stopped(world, gateway)
    assert len(world.model.requests) == 1


async def test_a_send_cut_before_its_effect_goes_out_once_and_says_it_may_be_a_repeat(
    world: World,
) -> None:
    held = world.telegram.fail("sendMessage", delay=300, times=1)
    gateway = await world.start()
    world.telegram.say(1, "say:done")
    await world.telegram.until(lambda: held.hits == 1, PATIENCE)
    await gateway.kill()

    gateway = await world.start()
    await world.said(1, f"done\n\n{REPEAT_LINE}")
    await stopped(world, gateway)
    assert world.rows("SELECT maybe_duplicate FROM outbound") == [(1,)]


async def test_a_send_cut_after_its_effect_is_repeated_once_with_a_line_that_says_so(
    world: World,
) -> None:
    world.telegram.say(1, "say:done")
    await (await world.launch(crash_at="receipt:before")).died()
    assert world.texts(1) == ["done"]

    gateway = await world.start()
    await world.said(1, "done", f"done\n\n{REPEAT_LINE}")
    await stopped(world, gateway)


async def test_a_send_whose_receipt_is_stored_is_not_repeated(world: World) -> None:
    world.telegram.say(1, "say:done")
    await (await world.launch(crash_at="receipt:after")).died()

    gateway = await world.start()
    await stopped(world, gateway)
    assert world.texts(1) == ["done"]


async def test_of_a_long_answer_only_the_part_in_doubt_is_repeated(world: World) -> None:
    letters = "abc"  # each is about as much as a rich message holds
    world.telegram.say(1, "say:" + " ".join(letter * 30_000 for letter in letters))
    await (await world.launch(crash_at="receipt:2:before")).died()
    assert [text[0] for text in world.texts(1)] == ["a", "b"]

    gateway = await world.start()
    await world.answered(1, 5)
    await stopped(world, gateway)
    shown = [text[0] for text in world.texts(1)]
    assert shown == ["a", "b", REPEAT_LINE[0], *letters[1:]]


async def test_a_repeat_that_is_refused_for_a_while_still_says_that_it_may_be_one(
    world: World,
) -> None:
    world.telegram.say(1, "say:done")
    await (await world.launch(crash_at="receipt:before")).died()

    world.telegram.fail("sendMessage", status=502, times=2)
    gateway = await world.start()
    await world.said(1, "done", f"done\n\n{REPEAT_LINE}")
    await stopped(world, gateway)


async def test_a_crash_in_the_poll_loses_no_message_that_came_in_it(world: World) -> None:
    held = world.telegram.fail("getUpdates", delay=300, times=1)
    gateway = await world.launch()
    await world.telegram.until(lambda: held.hits == 1, PATIENCE)
    world.telegram.say(1, "say:one")
    await gateway.kill()

    gateway = await world.start()
    await world.said(1, "one")
    await stopped(world, gateway)


async def test_after_a_crash_one_hanging_call_keeps_no_other_chat_waiting(world: World) -> None:
    gateway = await world.start()
    world.telegram.say(1, "wait:300\nsay:hang")
    world.telegram.say(2, "wait:300\nsay:free")
    await world.asked(2)
    await gateway.kill()

    await world.start()
    await world.asked(4)


async def test_a_run_that_ends_uncleanly_three_times_is_given_up_and_the_person_is_told(
    world: World,
) -> None:
    world.telegram.say(1, "say:poison")
    for _ in range(3):
        await (await world.launch(crash_at="start_model:after")).died()

    gateway = await world.start()
    (text,) = await world.answered(1)
    assert text.startswith("I gave up on this: I crashed 3 times")
    world.telegram.say(1, "say:fine")
    await world.said(1, text, "fine")
    await stopped(world, gateway)
    assert world.rows("SELECT state FROM runs ORDER BY created_at") == [("failed",), ("completed",)]
    assert not any("poison" in str(body) for body in world.model.requests[:-1])


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_while_runs_are_given_back_loses_nothing(world: World, when: str) -> None:
    world.configure(top="drain_seconds = 0")
    world.model.fail_with(Fault(hang=True))
    gateway = await world.launch(crash_at=f"release:{when}")
    await gateway.ready()
    world.telegram.say(1, "say:done")
    await world.asked()
    gateway.signal(signal.SIGTERM)
    await gateway.died()

    gateway = await world.start()
    await world.said(1, "done")
    await stopped(world, gateway)
    calls = [b for b in world.entries("telegram:1") if isinstance(b, ModelCallEntry)]
    assert len(calls) == len(world.model.requests) == 2
