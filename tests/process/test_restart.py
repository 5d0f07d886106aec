"""A gateway that starts again by itself: the same process, with the configuration as it is then."""

from __future__ import annotations

import asyncio
import json
import signal

from tests.process.harness import COMMAND, World

_PATIENCE = 60.0


async def ready(output: asyncio.StreamReader) -> str:
    """The next line that says so."""
    async with asyncio.timeout(_PATIENCE):
        while line := (await output.readline()).decode():
            if line.startswith("ready "):
                return line
    raise AssertionError("it ended before it was ready")


async def test_a_gateway_starts_again_with_what_was_configured_meanwhile(world: World) -> None:
    # Not from the nest: what is forked there would start the nest again.
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "gateway", env=world.environ(), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        before = await ready(process.stdout)
        world.telegram.say(1, "say:before")
        await world.said(1, "before")
        changed = await world.run("config", "set", "agent.max_iterations", "3")
        assert changed.code == 0, changed.errors
        ended = await world.run("restart", "--yes")
        assert ended.code == 0, ended.errors
        after = await ready(process.stdout)
        assert before.split()[1] == after.split()[1] == f"pid={process.pid}"
        world.telegram.say(1, "say:after")
        await world.said(1, "before", "after")
        status = json.loads((await world.run("status", "--json")).output)
        assert (status["pid"], status["serving"]) == (process.pid, True)
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_a_configuration_that_could_not_start_is_named_and_all_goes_on(world: World) -> None:
    await world.start()
    text = (world.home / "config.toml").read_text()
    (world.home / "config.toml").write_text("drain_seconds = -1\n" + text)
    ended = await world.run("restart", "--yes")
    assert ended.code == 3
    assert "config.toml" in ended.errors
    (world.home / "config.toml").write_text(text)
    world.telegram.say(1, "say:still here")
    await world.said(1, "still here")
