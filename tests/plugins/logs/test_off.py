"""While the plugin is off, a gateway logs to standard error, and `nanobot logs` names it."""

from __future__ import annotations

import json

from tests.process.harness import World


async def test_the_log_is_on_standard_error_alone(world: World) -> None:
    file = world.home / "config.toml"
    file.write_text('plugins.off = ["logs"]\n' + file.read_text("utf-8"), "utf-8")
    gateway = await world.launch("gateway", "--log-format", "json")
    await gateway.ready()
    world.telegram.say(1, "say:done")
    await world.said(1, "done")
    assert await gateway.stop() == 0
    lines = [json.loads(line) for line in world.log.splitlines() if line.startswith("{")]
    assert any(line["message"].startswith("stopping") for line in lines)
    assert not [line for line in lines if "(run " in line["message"]]
    shown = await world.run("logs")
    assert shown.code == 1
    assert "the plugin logs, which is off: `nanobot plugins on logs` switches it on" in shown.errors
