"""What `nanobot doctor` says about programs of servers where the sandbox does not work."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.config.loader import load
from nanobot.plugins.common.plugin_checks import checked
from nanobot.plugins.common.walls import NO_NETWORK, NoWalls, Walls
from nanobot.plugins.mcp.findings import unwalled
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap, find_bwrap

SERVERS = {
    **{name: McpSettings(command="x", sandbox=name) for name in ("auto", "bwrap", "off")},
    "remote": McpSettings(url="https://it.example/mcp"),
    "disabled": McpSettings(command="x", enabled=False),
}


@pytest.mark.parametrize("walls", [Bubblewrap(None), NoWalls()], ids=["no bubblewrap", "no plugin"])
async def test_each_program_that_should_be_in_a_sandbox_is_named(walls: Walls) -> None:
    found = await unwalled(SERVERS, walls)
    assert [(finding.about, finding.level) for finding in found] == [
        ("mcp.auto", "warning"),
        ("mcp.bwrap", "broken"),
    ]
    why = await walls.probe(NO_NETWORK)
    assert found[0].text == f"its program runs without a sandbox: {why}"


async def test_where_the_sandbox_works_doctor_says_nothing_of_it(tmp_path: Path) -> None:
    if await Bubblewrap(find_bwrap()).probe(NO_NETWORK) is not None:
        pytest.skip("needs bubblewrap")
    table = '[plugins]\noff = ["shell"]\n[mcp.it]\ncommand = "x"\npin = "off"\nnetwork = "none"\n'
    (tmp_path / "config.toml").write_text(table)
    config = load({"NANOBOT_HOME": str(tmp_path)})
    assert [finding async for finding in checked(config) if "mcp" in finding.about] == []
