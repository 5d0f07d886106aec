"""What happens on the machine reaches a chat, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.process.harness import Nanobot, World
from tests.sampling import few

_ONLY = "\n".join(
    f"[events.{name}]\nenabled = false" for name in ("disk", "memory", "swap", "load", "units")
)


def configure(world: World, watches: str, more: str = "", to: str = "telegram:1") -> None:
    events = f'[events]\nenabled = true\nto = "{to}"\nfold_seconds = 0.2\n{more}'
    world.configure(more=f"{events}\n{_ONLY}\n{watches}")


def prompts(world: World) -> list[str]:
    """What the model was asked by events."""
    prompts_seen = []
    for request in world.model.requests:
        last = request["messages"][-1]["content"]
        if "This happened on the machine" in json.dumps(last):
            prompts_seen.append(json.dumps(last))
    return prompts_seen


def old_log(world: World) -> Path:
    log = world.home.parent / "service.log"
    log.write_text("an old failure\n", "utf-8")
    return log


async def begun(world: World, log: Path, crash_at: str = "") -> Nanobot:
    """A gateway that watches a log, and a chat that the answers go to."""
    configure(
        world,
        f'[events.logs.service]\npath = "{log}"\npattern = "(?i)failure"\nevery_seconds = 0.1\n'
        'prompt = "Look at the module."',
        'prompt = "say:The service is ill."',
    )
    gateway = await world.launch(crash_at=crash_at)
    await gateway.ready()
    world.telegram.say(1, "say:hello")
    await world.said(1, "hello")
    await seen(world)
    return gateway


def fail(log: Path) -> None:
    with log.open("a", encoding="utf-8") as lines:
        lines.write("all is well\nFAILURE in module 7\n")


async def test_a_line_of_a_log_is_asked_about_and_told_though_the_gateway_dies_in_between(
    world: World,
) -> None:
    log = old_log(world)
    gateway = await begun(world, log)
    fail(log)
    await world.asked(2)
    gateway = await world.revive(gateway)
    await world.answered(1, 2)
    await gateway.stop()
    assert world.texts(1) == ["hello", "The service is ill."]
    prompt = prompts(world)[0]
    assert "> FAILURE in module 7" in prompt
    assert "What to do about it: Look at the module." in prompt
    assert "an old failure" not in prompt
    assert "all is well" not in prompt
    world.verify()
    assert world.rows("SELECT status FROM occurrences") == [("done",)]


@pytest.mark.parametrize(
    "point",
    few(
        [
            "keep:3:after",  # about to be told
            "cron_trigger:1:after",  # taken
            "keep:2:before",  # noticed
            "keep:2:after",
            "keep:3:before",
            "cron_trigger:1:before",
            "keep:4:before",  # known to be taken
            "keep:4:after",
        ],
        2,
    ),
)
async def test_an_event_is_told_exactly_once_wherever_the_gateway_dies(
    world: World, point: str
) -> None:
    log = old_log(world)
    gateway = await begun(world, log, point)
    fail(log)
    await gateway.died()
    gateway = await world.start()
    await world.answered(1, 2)
    await seen(world)
    await gateway.stop()
    assert world.texts(1) == ["hello", "The service is ill."]
    assert world.rows("SELECT status FROM occurrences") == [("done",)]
    kept = json.loads(world.rows("SELECT body FROM trigger_state")[0][0])
    assert "telling" not in kept
    assert "waiting" not in kept


async def test_a_mistake_stops_the_start_and_names_the_key(world: World) -> None:
    configure(world, '[events.logs.x]\npath = "/x"\npattern = "(a"')
    ended = await world.run("gateway")
    assert ended.code == 3
    assert "events.logs.x.pattern" in ended.errors
    assert "missing ), unterminated subpattern at position 0" in ended.errors
    world.configure(more='[events]\nenabled = true\nto = "signal:1"')
    ended = await world.run("gateway")
    assert ended.code == 3
    assert (
        "events.to is 'signal:1', which is not a chat of a channel that is served" in ended.errors
    )


async def test_without_a_chat_the_model_is_asked_and_nobody_is_written_to(world: World) -> None:
    log = old_log(world)
    configure(
        world,
        f'[events.logs.service]\npath = "{log}"\npattern = "FAILURE"\nevery_seconds = 0.1',
        'prompt = "say:Noted."',
        to="",
    )
    gateway = await world.start()
    await seen(world)
    fail(log)
    await world.asked()
    doctor = await world.run("doctor")
    assert "events.logs.service" in doctor.output
    assert await gateway.stop() == 0
    assert len(prompts(world)) == 1
    assert world.rows("SELECT channel, state FROM outbound WHERE channel = 'telegram'") == []


async def seen(world: World) -> None:
    """The watches have looked for the first time."""
    while True:
        status = await world.run("status", "--json")
        watches = json.loads(status.output)["watches"]
        if watches and "not looked at yet" not in watches.values():
            return
