"""A gateway whose view of the moment is off: what asks for it names the plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from tests.plugins.switching import asked, serving
from tests.process.harness import World

OFF = '[plugins]\noff = ["top"]\n'
WHY = "belongs to the plugin top, which is off here"


async def test_what_asks_for_it_names_it_and_runs_go_on(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "hello") == "completed"
        with pytest.raises(UsageError, match=f"runs now {WHY}.*plugins on top"):
            await parts.operations.call("runs now", {})
        assert parts.operations.unknown("/runs now").startswith(f"/runs now {WHY}")
        assert len(await parts.operations.call("runs list", {})) == 1


@pytest.mark.process
async def test_the_command_names_it(world: World) -> None:
    world.configure(more=OFF)
    await world.start()
    ended = await world.run("top", "--once")
    assert (ended.code != 0, ended.output) == (True, "")
    assert WHY in ended.errors
    assert "plugins on top" in ended.errors
