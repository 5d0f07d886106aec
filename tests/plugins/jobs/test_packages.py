"""Triggers of packages: `[triggers.NAME]` opens them by their entry points."""

from __future__ import annotations

from pathlib import Path

import pytest
from loguru import logger

from nanobot.errors import ConfigError
from nanobot.plugins.jobs.triggers import GatheredTriggers
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.plugins.switching import asked, serving

BELL = """
    import asyncio
    from nanobot.errors import ConfigError


    class Bell:
        async def run(self, publisher):
            await asyncio.Event().wait()


    def PLUGIN(name, keys):
        if keys.get("loud"):
            raise ConfigError(f"triggers.{name}.loud: not in the house")
        return Bell() if not keys.get("odd") else object()
"""


async def test_settings_that_a_trigger_rejects_prevent_a_start(site: Site, tmp_path: Path) -> None:
    site.bring("bell", BELL, group="nanobot.triggers")
    settings = '[triggers.door]\ntype = "bell"\nloud = true\n'
    with pytest.raises(ConfigError, match=r"door\.loud: not in the house"):
        async with serving(tmp_path / "home", settings):
            pass
    off = f'[plugins]\noff = ["jobs"]\n{settings}'
    async with serving(tmp_path / "home", off) as parts:
        assert await asked(parts, "hello") == "completed"


async def test_a_broken_trigger_is_named_once_and_the_others_run(
    site: Site, tmp_path: Path
) -> None:
    site.bring("bell", BELL, group="nanobot.triggers")
    settings = '[triggers.door]\ntype = "bell"\nodd = true\n[triggers.gate]\ntype = "bell"\n'
    lines: list[str] = []
    sink = logger.add(lambda line: lines.append(str(line)), format="{message}")
    try:
        async with serving(tmp_path / "home", settings) as parts:
            gathered = parts.plugged.offers.get(GatheredTriggers).each
            assert "trigger:gate" in gathered
            assert "trigger:door" not in gathered
    finally:
        logger.remove(sink)
    assert sum("it opens a object" in line for line in lines) == 1
