"""A gateway whose preview of contexts is off names the plugin, and answers as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from nanobot.plugins.context.shown import ContextView
from tests.plugins.switching import asked, serving

OFF = '[plugins]\noff = ["context"]\n'


async def test_what_a_model_would_be_sent_is_shown_while_the_plugin_is_on(tmp_path: Path) -> None:
    async with serving(tmp_path / "home") as parts:
        assert await asked(parts, "hello") == "completed"
        view: ContextView = await parts.operations.call("context show", {"session": "cli:desk"})
        assert [part.name for part in view.parts][-1] == "last message (assistant)"


async def test_while_it_is_off_its_command_names_it_and_runs_go_on(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "hello") == "completed"
        with pytest.raises(UsageError, match=r"plugin context, which is off here.*plugins on"):
            await parts.operations.call("context show", {"session": "cli:desk"})
        said = parts.operations.unknown("/context show")
        assert said.startswith("/context show belongs to the plugin context, which is off here")
        said = parts.operations.unknown("/tools list")
        assert said.startswith("/tools list belongs to the plugin context, which is off here")
        assert (await parts.operations.call("reload", {})).sessions == 1
