"""A home whose maintenance is off: its commands name the plugin; a gateway starts as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import ConfigError
from tests.plugins.switching import asked, serving
from tests.process.harness import World

OFF = '[plugins]\noff = ["maintenance"]\n'


@pytest.mark.process
async def test_its_commands_name_it_and_the_way_back(world: World) -> None:
    world.configure(more=OFF)
    for words in (("backup", "kept.db"), ("restore", "kept.db"), ("check",), ("vacuum",)):
        refused = await world.run("db", *words)
        assert (refused.code, refused.output) == (ConfigError.exit_code, ""), words
        assert refused.errors.strip().endswith(
            "this command belongs to the plugin maintenance. "
            "It is switched off: nanobot plugins on maintenance"
        ), refused.errors
    assert (await world.run("plugins", "on", "maintenance")).code == 0
    assert "Everything holds." in (await world.run("db", "check")).output


async def test_a_gateway_starts_and_answers_while_it_is_off(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "hello") == "completed"
