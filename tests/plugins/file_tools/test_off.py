"""A gateway whose file tools are off: models are offered none, and what people send is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.app.gateway_parts import Parts
from nanobot.errors import NotAllowed, ToolUnknown, UsageError
from nanobot.messages import Role
from nanobot.plugins.library.function import tool
from nanobot.tools.plugins import offered
from tests.plugins.switching import asked, serving

OFF = '[plugins]\noff = ["file_tools"]\n'
TOOLS = {"read_file", "write_file", "edit_file", "list_dir", "search_files"}


def names(parts: Parts) -> set[str]:
    return {spec.name for spec in parts.engine.tools.specs(Role.OWNER)}


async def test_its_tools_are_gone_and_everything_else_answers(tmp_path: Path) -> None:
    async with serving(tmp_path / "home") as parts:
        all_tools = names(parts)
        assert all_tools >= TOOLS
    async with serving(tmp_path / "home", OFF) as parts:
        assert names(parts) == all_tools - TOOLS
        assert await asked(parts, "hello") == "completed"
        with pytest.raises(ToolUnknown, match='there is no tool "read_file"'):
            await parts.engine.tools.execute("read_file", {"path": "a.txt"})
        with pytest.raises(UsageError, match="read_file"):
            await parts.operations.call("policy explain", {"tool": "read_file", "text": "a.txt"})
        listed = {each.name: each for each in await parts.operations.call("plugins list", {})}
        assert "nanobot plugins on file_tools" in listed["file_tools"].why


async def test_people_still_read_the_workspace_while_it_is_off(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        (tmp_path / "home" / "workspace" / "a.txt").write_text("hello")
        assert "a.txt" in {row.path for row in await parts.operations.call("files list", {})}
        assert (await parts.operations.call("files show", {"path": "a.txt"})).text == "hello"


async def test_a_rule_that_hides_a_file_hides_it_from_people_while_it_is_off(
    tmp_path: Path,
) -> None:
    rule = '[[policy.rules]]\ntool = "read_file"\nargs = { path = "*.key" }\nverdict = "deny"\n'
    for settings in (rule, OFF + rule):
        async with serving(tmp_path / "home", settings) as parts:
            (tmp_path / "home" / "workspace" / "a.key").write_text("hello")
            with pytest.raises(NotAllowed, match="rule 1"):
                await parts.operations.call("files show", {"path": "a.key"})


def test_no_package_gets_the_names_of_its_tools() -> None:
    @tool
    async def read_file() -> str:
        """Pretend to read a file."""
        return ""

    with pytest.raises(UsageError, match="read_file"):
        offered(read_file)
