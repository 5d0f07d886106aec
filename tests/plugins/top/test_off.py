"""A gateway whose view of the moment is off: what asks for it names the plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from nanobot.plugins.setup.doctor.checks import findings
from tests.plugins.switching import asked, serving
from tests.process.harness import World

NO_MODEL = '[agent]\nmodel = "absent/one"\n[providers.absent]\napi_base = "http://127.0.0.1:9"\n'
OFF = '[plugins]\noff = ["top"]\n'
WHY = "belongs to the plugin top, which is off here"


async def test_what_asks_for_it_names_it_and_runs_go_on(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "hello") == "completed"
        with pytest.raises(UsageError, match=f"runs now {WHY}.*plugins on top"):
            await parts.operations.call("runs now", {})
        assert parts.operations.unknown("/runs now").startswith(f"/runs now {WHY}")
        assert parts.operations.unknown("/status").startswith(f"/status {WHY}")
        assert len(await parts.operations.call("runs list", {})) == 1


async def test_doctor_finds_that_it_runs_and_names_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environ = {"NANOBOT_HOME": str(home)}
    async with serving(home, OFF + NO_MODEL):
        (found,) = [each for each in await findings(environ) if each.about == "gateway"]
        assert (found.text.partition(";")[0], found.level) == ("running", "warning")
        assert found.remedy == "Run: nanobot plugins on top"
    (found,) = [each for each in await findings(environ) if each.about == "gateway"]
    assert found.text == "not running"


@pytest.mark.process
async def test_the_command_names_it(world: World) -> None:
    world.configure(more=OFF)
    await world.start()
    ended = await world.run("top", "--once")
    assert (ended.code != 0, ended.output) == (True, "")
    assert WHY in ended.errors
    assert "plugins on top" in ended.errors
