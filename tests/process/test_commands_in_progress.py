"""A command that takes longer: nobody else waits for it, and a kill in it neither repeats nor
forgets it."""

from __future__ import annotations

import pytest

from tests.doubles.openai_server import Answer, Body
from tests.process.harness import World

TRYING, OTHER = 1, 2
INTERRUPTED = (
    "/models try was interrupted by a restart. Whether it had an effect is unknown: "
    "look before you send it again."
)


def slow_at_tests(body: Body) -> Answer | None:
    """The model takes its time wherever it is asked without a person's word."""
    return None if "say:hello" in str(body) else Answer(text="here", wait=2.5)


async def test_another_chat_is_answered_meanwhile(world: World) -> None:
    world.model.script = slow_at_tests
    await world.start()
    await world.acknowledged(world.telegram.say(TRYING, "/models try"))
    world.telegram.say(OTHER, "say:hello")
    await world.said(OTHER, "hello")
    assert world.texts(TRYING) == []
    (answer,) = await world.answered(TRYING)
    assert "answered after 2." in answer


@pytest.mark.parametrize("moment", ["", "performed:before", "performed:after"])
async def test_a_kill_in_it_neither_repeats_nor_forgets_it(world: World, moment: str) -> None:
    world.model.script = slow_at_tests
    gateway = await world.launch("gateway", crash_at=moment)
    await gateway.ready()
    await world.acknowledged(world.telegram.say(TRYING, "/models try"))
    if moment:
        await gateway.died()
    else:
        await gateway.kill()
    asked = len(world.model.requests)
    gateway = await world.start()
    (answer,) = await world.answered(TRYING)
    assert (answer == INTERRUPTED) == (moment != "performed:after")
    world.telegram.say(OTHER, "say:hello")
    await world.said(OTHER, "hello")
    assert len(world.texts(TRYING)) == 1
    assert len(world.model.requests) == asked + 1


async def test_a_planned_stop_waits_for_it(world: World) -> None:
    world.model.script = slow_at_tests
    gateway = await world.start()
    await world.acknowledged(world.telegram.say(TRYING, "/models try"))
    assert await gateway.stop() == 0
    (answer,) = world.texts(TRYING)
    assert "answered after 2." in answer


async def test_a_planned_stop_waits_no_longer_than_for_runs(world: World) -> None:
    world.configure(top="drain_seconds = 0.1")
    world.model.script = slow_at_tests
    gateway = await world.start()
    await world.acknowledged(world.telegram.say(TRYING, "/models try"))
    assert await gateway.stop() == 0
    await world.start()
    assert await world.answered(TRYING) == [INTERRUPTED]
