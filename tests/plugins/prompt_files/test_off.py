"""A gateway whose plugin for prompt files is off names it; prompts contain the files as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from nanobot.testing.model import ScriptedProvider
from tests.plugins.switching import asked, serving
from tests.server.housing import house

OFF = '[plugins]\noff = ["prompt_files"]\n'


async def test_while_it_is_off_its_commands_name_it_and_prompts_have_the_files(
    tmp_path: Path,
) -> None:
    home, model = tmp_path / "home", ScriptedProvider()
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "USER.md").write_text("I live in Lisbon.")
    async with serving(home, OFF, model) as parts:
        assert await asked(parts, "hello") == "completed"
        assert "I live in Lisbon." in str(model.requests[0].messages[0])
        for name, arguments in (
            ("prompts list", {}),
            ("prompts show", {"name": "USER.md"}),
            ("prompts write", {"name": "USER.md", "text": "No."}),
            ("reload", {}),
        ):
            with pytest.raises(UsageError, match=r"plugin prompt_files, which is off.*plugins on"):
                await parts.operations.call(name, arguments)
        said = parts.operations.unknown("/prompts show")
        assert said.startswith("/prompts show belongs to the plugin prompt_files, which is off")
        said = parts.operations.unknown("/reload")
        assert said.startswith("/reload belongs to the plugin prompt_files, which is off here")
        (home / "workspace" / "USER.md").write_text("I live in Porto.")
        assert await asked(parts, "hello again") == "completed"
        assert await asked(parts, "hello", "cli:another") == "completed"
        told = [str(request.messages[0]) for request in model.requests]
        assert ["I live in Porto." in each for each in told] == [False, False, True]
    async with serving(home) as parts:
        shown = await parts.operations.call("prompts show", {"name": "USER.md"})
        assert shown.text == "I live in Porto."
        assert (await parts.operations.call("reload", {})).sessions == 2


async def test_the_page_is_told_of_its_operations_only_while_it_is_on(tmp_path: Path) -> None:
    for web, offered in (("", True), (OFF, False)):
        async with house(tmp_path / "home", web=web) as served:
            _, me = await (await served.owner()).get("/api/me")
            assert ("prompts list" in me["operations"]) is offered
