"""Starting, stopping, and what lies between one process and the next."""

from __future__ import annotations

import re
import signal

import pytest

from tests.doubles.openai_server import Fault
from tests.process.harness import World


async def test_a_quiet_bot_is_known_to_be_up_when_the_gateway_is_ready(world: World) -> None:
    gateway = await world.launch()
    line = await gateway.ready()
    web = r"http://127\.0\.0\.1:\d+"
    assert re.fullmatch(rf"ready pid={gateway.pid} web={web} channels=telegram:up\n", line)


async def test_a_refused_token_is_said_in_the_ready_line_and_ends_nothing(world: World) -> None:
    world.telegram.fail("getUpdates", status=401)
    gateway = await world.launch()
    assert (await gateway.ready()).endswith("channels=telegram:failed\n")
    assert "put it into channels.telegram.token" in world.log
    assert await gateway.stop() == 0


async def test_what_was_said_while_the_process_was_down_is_answered_in_order(world: World) -> None:
    gateway = await world.start()
    world.telegram.say(1, "say:before")
    await world.said(1, "before")
    assert await gateway.stop() == 0
    for text in ("say:one", "/new", "say:two", "/new", "say:three"):
        world.telegram.say(1, text)

    gateway = await world.start()
    texts = await world.answered(1, 6)
    assert [texts[n] for n in (0, 1, 3, 5)] == ["before", "one", "two", "three"]
    await world.rests(gateway)


async def test_a_stop_lets_the_running_answer_come_out_and_ends_with_zero(world: World) -> None:
    gateway = await world.start()
    world.telegram.say(1, "wait:0.5\nsay:finished")
    await world.asked()
    assert await gateway.stop() == 0
    assert world.texts(1) == ["finished"]
    world.verify()


async def test_what_does_not_end_within_the_drain_goes_on_at_the_next_start(world: World) -> None:
    world.configure(top="drain_seconds = 0.1")
    world.model.fail_with(Fault(hang=True))
    gateway = await world.start()
    world.telegram.say(1, "say:resumed")
    await world.asked()
    assert await gateway.stop() == 0
    assert world.texts(1) == []

    gateway = await world.start()
    await world.said(1, "resumed")
    await world.rests(gateway)
    assert "attempt 2" not in world.log  # a clean end is no unclean one


async def test_a_second_signal_ends_it_at_once_and_loses_nothing(world: World) -> None:
    world.model.fail_with(Fault(hang=True))
    gateway = await world.start()
    world.telegram.say(1, "say:resumed")
    await world.asked()
    gateway.signal(signal.SIGTERM)
    await world.eventually(lambda: "stopping: active runs have" in world.log)
    gateway.signal(signal.SIGTERM)
    assert await gateway.ended() == 1

    gateway = await world.start()
    await world.said(1, "resumed")
    await world.rests(gateway)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
async def test_an_interrupt_or_a_closed_terminal_stops_like_a_termination(
    world: World, number: signal.Signals
) -> None:
    gateway = await world.start()
    world.telegram.say(1, "wait:0.5\nsay:finished")
    await world.asked()
    gateway.signal(number)
    assert await gateway.ended() == 0
    assert world.texts(1) == ["finished"]


async def test_a_stop_before_it_is_ready_ends_with_zero(world: World) -> None:
    held = world.telegram.fail("getUpdates", delay=300, times=1)
    gateway = await world.launch()
    await world.telegram.until(lambda: held.hits == 1)
    assert await gateway.stop() == 0


async def test_a_second_gateway_on_the_same_home_ends_with_four_naming_the_first(
    world: World,
) -> None:
    first = await world.start()
    second = await world.launch()
    assert await second.ended() == 4
    assert f"is in use by process {first.pid} (nanobot gateway)" in world.log
    world.telegram.say(1, "say:undisturbed")
    await world.said(1, "undisturbed")


async def test_a_configuration_that_cannot_work_ends_with_three_naming_the_key(
    world: World,
) -> None:
    world.configure(agent="max_iterations = 0")
    assert await (await world.launch()).ended() == 3
    assert "agent.max_iterations" in world.log


async def test_a_home_that_cannot_be_written_ends_with_four(world: World) -> None:
    (world.home.parent / "file").touch()
    gateway = await world.launch(NANOBOT_HOME=str(world.home.parent / "file"))
    assert await gateway.ended() in {3, 4}


async def test_a_damaged_store_ends_with_four_and_says_what_to_do(world: World) -> None:
    gateway = await world.start()
    await gateway.kill()
    database = world.home / "state.db"
    database.write_bytes(b"not a database at all" * 200)
    (world.home / "state.db-wal").unlink(missing_ok=True)
    assert await (await world.launch()).ended() == 4
    assert "damaged" in world.log
    assert database.stat().st_size == 4200
