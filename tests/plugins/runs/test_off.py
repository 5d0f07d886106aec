"""A gateway whose sight into runs is off answers and records; what asks names the plugin."""

from __future__ import annotations

from pathlib import Path

import mcp_types as types
import pytest

from nanobot.errors import UsageError
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.http.absent import absent
from nanobot.plugins.mcp.offered_tools import DECIDING, LOOKING, McpTools
from nanobot.plugins.runs.operations import operations
from tests.plugins.switching import asked, serving
from tests.stored import runs_of

OFF = '[plugins]\noff = ["runs"]\n'


async def test_each_of_its_commands_names_it_and_how_it_is_switched_on(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        for each in operations():
            with pytest.raises(
                UsageError, match=r"plugin runs, which is off here.*plugins on runs"
            ):
                await parts.operations.call(each.name, {})
            said = parts.operations.unknown(f"/{each.name}")
            assert said.startswith(f"/{each.name} belongs to the plugin runs, which is off here")
            path = f"/api/{each.name.replace(' ', '/')}"
            assert absent(parts.plugged, path) == (
                "This belongs to the plugin runs. It is switched off: nanobot plugins on runs"
            )


@pytest.mark.parametrize("typed", ["/runs", "/outbox", "/runs@my_bot"])
async def test_a_group_that_others_have_words_in_names_it_too(tmp_path: Path, typed: str) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert parts.operations.find(typed) is None
        assert "belongs to the plugin runs, which is off here" in parts.operations.unknown(typed)
        assert parts.operations.find("/runs retry x") is not None
        assert parts.operations.find("/runs feedback up") is not None


async def test_what_happened_meanwhile_is_there_when_it_is_on_again(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        assert await asked(parts, "hello") == "completed"
        (run,) = await runs_of(parts.engine.records).listed(session="", state="", limit=5)
        await parts.operations.call("runs feedback", {"verdict": "up", "run": run.id})
    async with serving(tmp_path / "home") as parts:
        (listed,) = await parts.operations.call("runs list", {})
        page = await parts.operations.call("runs show", {"id": listed.id})
        assert listed.id == run.id
        assert [each.verdict for each in page.feedback] == ["up"]
        assert [entry.kind for entry in page.entries][-1] == "feedback"


async def test_programs_are_offered_the_other_tools(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        there = {each.name for each in parts.operations.listed}
        missing = {name for name in (*LOOKING, *DECIDING) if name not in there}
        assert missing == {"runs list", "runs show", "runs cancel"}
        offered = McpTools(
            parts.operations, parts.plugged.offers.get(RunService), approves=False, trusted=False
        )
        request = types.CallToolRequestParams(name="runs_show", arguments={"id": "x"})
        answer = await offered._answered(request, lambda _event: None)
        assert answer.is_error
        assert "runs_show belongs to the plugin runs, which is off here" in str(answer.content)
