"""Budgets of a whole nanobot: refused before the call, across restarts, and shown by a command."""

from __future__ import annotations

import json

from tests.process.harness import World


async def test_a_hard_limit_refuses_across_restarts_and_says_when_it_starts_again(
    world: World,
) -> None:
    world.configure(more='[budgets]\nrequests_per_day = 1\nsoft = 1.0\nzone = "UTC"')
    gateway = await world.start()
    world.telegram.say(1, "say:first")
    await world.answered(1, 1)
    assert await gateway.stop() == 0

    gateway = await world.start()
    world.telegram.say(2, "say:second")
    await world.answered(2, 1)
    (refusal,) = world.texts(2)
    assert refusal.startswith(
        "I cannot answer now: the budget of 1 model request a day is used up "
        "(1 model request used or reserved); it starts again at "
    )
    assert len(world.model.requests) == 1

    shown = await world.run("usage", "--by", "person", "--json")
    report = json.loads(shown.output)
    assert [(row["name"], row["requests"]) for row in report["rows"]] == [("telegram:1", 1)]
    left = {limit["measure"]: limit["left"] for limit in report["limits"]}
    assert (left["requests"], set(left)) == (0.0, {"requests", "tokens", "cost"})
    assert "telegram:1: 1 model request, " in (await world.run("usage", "--by", "person")).output
    await world.rests(gateway)
