"""The personas to choose from, and that they are spoken in while the plugin is off."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from nanobot.testing.model import ScriptedProvider
from nanobot.workspace import personas
from tests.plugins.switching import asked, serving

CHOSEN = '[agent]\npersona = "concise"\n'
OFF = '[plugins]\noff = ["setup"]\n'


async def test_personas_are_listed_with_the_one_that_is_chosen(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", CHOSEN) as parts:
        views = await parts.operations.call("personas list", {})
        assert [view.name for view in views if view.chosen] == ["concise"]
        assert all(view.text for view in views)


async def test_while_setup_is_off_the_command_names_it_and_the_persona_is_kept(
    tmp_path: Path,
) -> None:
    home, model = tmp_path / "home", ScriptedProvider()
    async with serving(home, CHOSEN + OFF, model) as parts:
        assert await asked(parts, "hello") == "completed"
        style = personas.text("concise", home / "workspace").strip()
        assert style.splitlines()[0] in str(model.requests[0].messages[0].content)
        for command in ("personas list", "channels list"):
            with pytest.raises(UsageError, match=r"plugin setup, which is off.*plugins on"):
                await parts.operations.call(command, {})
