"""What happens on the machine reaches a chat, once."""

from __future__ import annotations

import json

from tests.process.harness import World

_ONLY = "\n".join(
    f"[events.{name}]\nenabled = false" for name in ("disk", "memory", "swap", "load", "units")
)


def configure(world: World, watches: str, more: str = "") -> None:
    events = f'[events]\nenabled = true\nto = "telegram:1"\nfold_seconds = 0.2\n{more}'
    world.configure(more=f"{events}\n{_ONLY}\n{watches}")


def prompts(world: World) -> list[str]:
    """What the model was asked by events."""
    asked = []
    for request in world.model.requests:
        last = json.loads(json.dumps(request))["messages"][-1]["content"]
        if "This happened on the machine" in json.dumps(last):
            asked.append(json.dumps(last))
    return asked


async def test_a_line_of_a_log_is_told_once_whatever_crashes(world: World) -> None:
    log = world.home.parent / "service.log"
    log.write_text("an old failure\n", "utf-8")
    configure(
        world,
        f'[events.logs.service]\npath = "{log}"\npattern = "(?i)failure"\nevery_seconds = 0.1\n'
        'prompt = "Look at the module."',
        'prompt = "say:The service is ill."',
    )
    gateway = await world.start()
    world.telegram.say(1, "say:hello")
    await world.said(1, "hello")
    await seen(world)
    with log.open("a", encoding="utf-8") as lines:
        lines.write("all is well\nFAILURE in module 7\n")
    await world.asked(2)
    await gateway.kill()
    gateway = await world.start()
    await world.answered(1, 2)
    await gateway.stop()
    assert world.texts(1) == ["hello", "The service is ill."]
    asked = prompts(world)[0]
    assert "> FAILURE in module 7" in asked
    assert "What to do about it: Look at the module." in asked
    assert "an old failure" not in asked
    assert "all is well" not in asked
    world.verify()
    assert world.rows("SELECT status FROM occurrences") == [("done",)]


async def seen(world: World) -> None:
    """The watches have looked for the first time."""
    while True:
        status = await world.run("status", "--json")
        watches = json.loads(status.output)["watches"]
        if watches and "not looked at yet" not in watches.values():
            return
