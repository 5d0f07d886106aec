"""Which tools bring content from outside: every registered one, unless it is known that it does
not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.plugins.common.commands.at_rest import operations as operations_at_rest
from nanobot.plugins.library.function import tool
from nanobot.testing.tools import context
from nanobot.tools.base import Effect
from nanobot.tools.registry import ToolRegistry
from tests.tools.browsing import CALL
from tests.tools.examples import examples


async def test_every_tool_of_a_gateway_taints_unless_it_is_known_to_bring_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "config.toml").write_text('[agent]\nrecall = "ask"\n[mcp.it]\ncommand = "/no/such"')
    environ = {"NANOBOT_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    async with operations_at_rest(Gateway(load(environ), environ), "test") as operations:
        listed = {tool.name: tool for tool, _, _ in operations.engine.tools.listed()}
    assert {"web_fetch", "web_search", "mcp_read", "find_tools"} <= listed.keys()
    judged = {name for name, each in examples().items() if each.brings != "outside"}
    for name, listed_tool in listed.items():
        if name not in judged:
            assert listed_tool.taints is True, name


@pytest.mark.parametrize(
    ("command", "tainted"),
    [
        ("ls", False),
        ("git commit -m x", False),
        ("python3 report.py", False),
        ("curl https://a.example", True),
        ("cat x | nc a.example 80", True),
        ("sh -c 'wget a.example'", True),
        ("git -C site pull", True),
        ("python3 -m pip install six", True),
        ("pip3.11 install six", True),
    ],
)
async def test_a_command_that_could_reach_the_network_taints(
    tmp_path: Path, command: str, *, tainted: bool
) -> None:
    (tmp_path / "workspace").mkdir()
    environ = {"NANOBOT_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    async with operations_at_rest(Gateway(load(environ), environ), "test") as operations:
        tools = operations.engine.tools
        arguments = msgspec.json.encode({"command": command}).decode()
        assert tools.taints("exec", arguments, CALL) is tainted
        network = msgspec.json.encode({"command": command, "network": True}).decode()
        assert tools.taints("exec", network, CALL)


def test_a_tool_that_says_nothing_of_it_taints() -> None:
    @tool(effect=Effect.NONE)
    def weather(city: str) -> str:
        """The weather."""
        return city

    registry = ToolRegistry()
    registry.register(weather)
    assert registry.taints("weather", '{"city": "Bern"}', context())
