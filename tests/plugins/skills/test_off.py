"""A gateway whose skills are off names the plugin, and answers as before; switched on again, it has
them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.config.loader import load
from nanobot.errors import UsageError
from nanobot.plugins.skills.settings import SkillsSettings
from nanobot.plugins.skills.skills import Skills, SkillView
from nanobot.providers.base import ModelRequest
from nanobot.testing.model import ScriptedProvider
from tests.plugins.skills.test_skills import SHIPPED, write
from tests.plugins.switching import asked, serving

OFF = '[plugins]\noff = ["skills"]\n\n[skills]\ndisabled = ["git"]\n'
ON = '[skills]\ndisabled = ["git"]\n'


def system(request: ModelRequest) -> str:
    return str(request.messages[0].content)


def offered(request: ModelRequest) -> set[str]:
    return {tool.name for tool in request.tools}


async def test_while_they_are_on_prompts_end_with_them(tmp_path: Path) -> None:
    model = ScriptedProvider()
    write(tmp_path / "home" / "workspace", more="always: true\n")
    async with serving(tmp_path / "home", ON, model) as parts:
        assert await asked(parts, "hello") == "completed"
        listed: list[SkillView] = await parts.operations.call("skills list", {})
    (request,) = model.requests
    assert "skill" in offered(request)
    assert "# Skill: bread\n\nUse flour.\n\n# Skills\n\nPages on how" in system(request)
    assert "\n- weather: " in system(request)
    assert "\n- git: " not in system(request)
    assert [view.name for view in listed if view.state == "disabled"] == ["git"]


async def test_while_they_are_off_their_commands_name_them_and_runs_go_on(tmp_path: Path) -> None:
    model, home = ScriptedProvider(), tmp_path / "home"
    write(home / "workspace", more="always: true\n")
    async with serving(home, OFF, model) as parts:
        assert await asked(parts, "hello") == "completed"
        for name, values in (("list", {}), ("show", {"name": "bread"}), ("add", {"path": "/x"})):
            with pytest.raises(UsageError, match=r"plugin skills, which is off here.*plugins on"):
                await parts.operations.call(f"skills {name}", values)
        said = parts.operations.unknown("/skills list")
        assert said.startswith("/skills list belongs to the plugin skills, which is off here")
        assert (await parts.operations.call("reload", {})).sessions == 1
    (request,) = model.requests
    assert "skill" not in offered(request)
    assert "# Skill" not in system(request)
    (home / "config.toml").write_text(ON)
    model = ScriptedProvider()
    async with serving(home, ON, model) as parts:
        listed: list[SkillView] = await parts.operations.call("skills list", {})
    assert [view.name for view in listed] == sorted([*SHIPPED, "bread"])
    assert [view.name for view in listed if view.state == "disabled"] == ["git"]


async def test_a_skill_is_switched_off_at_once_and_stays_off(tmp_path: Path) -> None:
    model, home = ScriptedProvider(), tmp_path / "home"
    async with serving(home, model=model) as parts:
        await asked(parts, "hello")
        call = parts.operations.call
        assert (await call("skills disable", {"name": "weather"})).state == "disabled"
        skills = parts.plugged.offers.get(Skills)
        assert "weather" not in {skill.name for skill in skills.shown()}
        await asked(parts, "hello again")
        assert ["\n- weather: " in system(request) for request in model.requests] == [True, False]
        assert 'disabled = ["weather"]' in (home / "config.toml").read_text()
        assert (await call("skills enable", {"name": "weather"})).state != "disabled"
        await asked(parts, "hello once more")
        assert "\n- weather: " in system(model.requests[-1])
    settings = load({"NANOBOT_HOME": str(home)}).tables["skills"]
    assert isinstance(settings, SkillsSettings)
    assert settings.disabled == ()


async def test_reload_shows_a_page_that_changed_a_moment_ago(tmp_path: Path) -> None:
    model, home = ScriptedProvider(), tmp_path / "home"
    page = write(home / "workspace") / "SKILL.md"
    async with serving(home, model=model) as parts:
        await asked(parts, "hello")
        page.write_text(page.read_text().replace("Baking bread.", "Baking rolls."))
        await parts.operations.call("reload", {})
        await asked(parts, "hello again")
    assert "\n- bread: Baking bread." in system(model.requests[0])
    assert "\n- bread: Baking rolls." in system(model.requests[1])
