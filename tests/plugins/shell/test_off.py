"""A gateway whose commands are switched off has neither `exec` nor `process`; what others need of
the plugin stays."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.config.settings.tools import PolicySettings, RuleSettings
from nanobot.errors import ToolUnknown, UsageError
from nanobot.messages import Address, Role
from nanobot.plugins.common.keys.tool_settings import ExecSettings
from nanobot.plugins.common.plugin_checks import checked
from nanobot.plugins.common.policy.policy import Policy
from nanobot.plugins.common.policy.rules import PolicyInput
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.common.walls import NO_NETWORK, Walls
from nanobot.plugins.library.default_tools import default_tools
from nanobot.plugins.mcp.connection_state import ConnectionState
from nanobot.plugins.mcp.place import ServerPlace
from nanobot.plugins.mcp.program import started
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import ScriptedProvider
from nanobot.tools.base import CallContext
from tests.doubles.openai_server import Answer, Body, OpenAIServer
from tests.plugins.fork.home import ForkHome, told
from tests.stored import log_of

OFF = '[plugins]\noff = ["shell"]\n'
BARE = '[tools.exec]\nsandbox = "off"\n'
SESSION = "web:desk"


def environ_of(home: Path, settings: str) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(settings)
    return {"NANOBOT_HOME": str(home)}


@asynccontextmanager
async def serving(home: Path, settings: str = "") -> AsyncIterator[Parts]:
    """One life of the gateway."""
    environ = environ_of(home, settings)
    program = Program(provider=OneProvider(ScriptedProvider()))
    gateway = Gateway(load(environ), environ, channels=False, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


def names(parts: Parts) -> set[str]:
    return {tool.name for tool, *_ in parts.engine.tools.listed()}


async def ask(parts: Parts, text: str, run: str) -> RunResult:
    request = RunInput(
        session_key=SESSION, run_id=run, messages=[{"role": "user", "content": text}]
    )
    async for item in parts.plugged.offers.get(RunService).stream(request):
        if isinstance(item, RunResult):
            return item
    raise AssertionError("the run has no result")


async def texts(parts: Parts) -> str:
    """What the conversation was told, without what the model says of it."""
    entries = await log_of(parts.engine.records).entries(SESSION, after=0, limit=100)
    return "\n".join(json.dumps(each.body) for each in entries if each.kind == "user")


async def test_its_tools_and_its_check_are_gone_and_everything_else_answers(tmp_path: Path) -> None:
    question = {"tool": "exec", "text": "echo hi", "role": "member"}
    async with serving(tmp_path / "home", BARE) as parts:
        all_tools = names(parts)
        assert {"exec", "process"} <= all_tools
        explained = await parts.operations.call("policy explain", question)
        assert explained.because == "commands run without a sandbox on this machine"
        assert "commands run" in str(await parts.operations.call("security audit", {}))
    async with serving(tmp_path / "home", BARE + OFF) as parts:
        assert names(parts) == all_tools - {"exec", "process"}
        with pytest.raises(ToolUnknown, match='there is no tool "exec"'):
            await parts.engine.tools.execute("exec", {"command": "echo hi"})
        with pytest.raises(UsageError, match="exec"):
            await parts.operations.call("policy explain", question)
        assert "commands run" not in str(await parts.operations.call("security audit", {}))
        listed = {each.name: each for each in await parts.operations.call("plugins list", {})}
        assert listed["shell"].state == "off"
        assert "nanobot plugins on shell" in listed["shell"].why
        result = await ask(parts, "say:still here", "run1")
        assert "still here" in str(result.message)
    config = load(environ_of(tmp_path / "home", OFF))
    assert [finding async for finding in checked(config) if finding.about == "sandbox"] == []
    config = load(environ_of(tmp_path / "home", ""))
    (finding,) = [finding async for finding in checked(config) if finding.about == "sandbox"]
    assert finding.text


async def test_a_background_command_that_was_lost_is_told_when_commands_are_on_again(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    context = CallContext(
        run_id="r",
        session_key=SESSION,
        address=Address("web", "desk"),
        sender_id="1001",
        role=Role.OWNER,
        key="r:1:0",
        approved=True,
    )
    async with serving(home, BARE) as parts:
        await ask(parts, "say:hello", "run1")
        arguments = {"command": "sleep 600", "background": True}
        told = await parts.engine.tools.execute("exec", arguments, context)
        assert "Started in the background as #1" in told
        assert "#1 running: sleep 600" in await parts.engine.tools.execute(
            "process", {"action": "list"}, context
        )
    async with serving(home, BARE + OFF) as parts:
        await ask(parts, "say:meanwhile", "run2")
        assert "Background command" not in await texts(parts)
    async with serving(home, BARE) as parts:
        said = ""
        async with asyncio.timeout(30):
            while "Background command" not in said:
                await asyncio.sleep(0.05)
                said = await texts(parts)
    assert said.count("Background command #1 (`sleep 600`) is lost") == 1


async def test_programs_of_servers_keep_their_sandbox(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", OFF) as parts:
        walls = parts.plugged.offers.get(Walls)  # type: ignore[type-abstract]
        if await walls.probe(NO_NETWORK) is not None:
            pytest.skip("needs bubblewrap")
        place = ServerPlace(tmp_path / "mcp", tmp_path / "home" / "workspace", walls)
        look = f"import os; print(os.path.exists({str(tmp_path / 'home' / 'config.toml')!r}))"
        settings = McpSettings(command=sys.executable, args=("-c", look), sandbox="bwrap")
        line = ConnectionState()
        base = place.environment({"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "user")})
        async with started("it", settings, base, place, line) as program:
            out, _ = await program.process.communicate()
    assert line.exposed == ""
    assert out == b"False\n"


async def test_rules_for_command_lines_stay_strict(tmp_path: Path) -> None:
    allow = RuleSettings(tool="mcp__it__*", args={"command": "git *"}, verdict="allow")
    async with serving(tmp_path / "home", OFF):
        policy = Policy(PolicySettings(rules=(allow,)))
        plain, sly = (
            policy.judge(PolicyInput(tool="mcp__it__run", arguments={"command": command}))
            for command in ("git status", "git -c alias.x=!curl x")
        )
    assert plain.rule == "policy.rules, rule 1"
    assert sly.rule.startswith("built-in")


def test_a_library_keeps_its_commands(tmp_path: Path) -> None:
    tools = default_tools(tmp_path, ExecSettings())
    assert "exec" in {spec.name for spec in tools.specs()}


async def test_forks_try_no_commands_either(tmp_path: Path) -> None:
    def script(body: Body) -> Answer:
        results = told(body)
        if body["model"].endswith("bad") and not results:
            return Answer(tool_calls=[("exec", '{"command": "echo tried"}')])
        return Answer("\n".join(results) or "Hello.")

    async with OpenAIServer(script) as server:
        home = ForkHome(tmp_path / "home", server)
        home.configure(OFF)
        async with home.serving() as gateway:
            run = await gateway.ask("Hello")
            fork = await gateway.fork(run, model="fake/bad")
    assert fork.comparison is not None
    assert 'there is no tool "exec"' in fork.comparison.b.answer
