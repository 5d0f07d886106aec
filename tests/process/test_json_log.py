"""The log as JSON: one object a line, linked to its run, without secrets."""

from __future__ import annotations

import json
from typing import Any

from nanobot.plugins.common.runs.trace_ids import trace_id
from tests.process.harness import World

CHAT = 1


def events_of(log: str) -> list[dict[str, Any]]:
    """Every line but those of the test's own that say what it starts: each must be an object."""
    return [json.loads(line) for line in log.splitlines() if line and not line.startswith("--- ")]


async def test_every_line_of_a_gateway_is_an_object_and_those_of_a_run_name_it(
    world: World,
) -> None:
    gateway = await world.launch("gateway", "--log-format", "json", NANOBOT_LOG="DEBUG")
    await gateway.ready()
    world.telegram.say(CHAT, "tool:exec:{}\nsay:done")
    await world.said(CHAT, "done")
    assert await gateway.stop() == 0
    events = events_of(world.log)
    assert {"time", "level", "message", "logger"} <= set.intersection(*map(set, events))
    of_runs = [event for event in events if "run" in event]
    (run_id,) = {event["run"] for event in of_runs}
    assert {event["trace"] for event in of_runs} == {trace_id(run_id)}
    assert {event["session"] for event in of_runs} == {f"telegram:{CHAT}"}
    (ended,) = (event for event in of_runs if event["logger"] == "nanobot.plugins.logs.run_log")
    assert ended["level"] == "info"
    within = [event for event in of_runs if "messages" in event]
    assert within, "a line written while the run works names its messages"
    assert {event.get("call") for event in within} & {1, 2}


async def test_the_configuration_and_the_environment_can_say_so_too(world: World) -> None:
    file = world.home / "config.toml"
    file.write_text('log_format = "json"\n' + file.read_text("utf-8"), "utf-8")
    gateway = await world.start()
    assert await gateway.stop() == 0
    events = [line for line in world.log.splitlines() if line.startswith("{")]
    assert events_of("\n".join(events))


async def test_a_form_that_there_is_not_is_refused(world: World) -> None:
    ended = await world.run("gateway", "--log-format", "xml")
    assert ended.code == 2
    assert "xml" in ended.errors
