"""A nanobot without its plugins: a copy of the program without the folder `nanobot/plugins` answers
over Telegram, keeps what it promises about messages, and says what is not there."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nanobot.seam.entry_points import BUILT_IN
from tests.process.harness import World, open_world

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-c", "from nanobot.cli import main; main()")
PATIENCE = 60.0
MISSING = f"{len(BUILT_IN)} of nanobot's {len(BUILT_IN)} built-in plugins are not there ("


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Where the copy is."""
    place = tmp_path / "bare"
    leave = shutil.ignore_patterns("plugins", "__pycache__")
    shutil.copytree(ROOT / "nanobot", place / "nanobot", ignore=leave)
    for folder in ("skills", "workspace_template"):
        shutil.copytree(ROOT / folder, place / folder)
    shutil.copy(ROOT / "pyproject.toml", place)
    channels = ROOT / "channels" / "nanobot_channels"
    shutil.copytree(channels, place / "nanobot_channels", ignore=leave)
    assert not (place / "nanobot" / "plugins").exists()
    return place


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened


def environ(world: World, bare: Path, **more: str) -> dict[str, str]:
    paths = [str(bare), *(p for p in sys.path if p and not p.startswith(str(ROOT / "channels")))]
    return {
        "PATH": os.environ["PATH"],
        "NANOBOT_HOME": str(world.home),
        "PYTHONPATH": os.pathsep.join(p for p in paths if p != str(ROOT)),
        **more,
    }


async def refusal(world: World, bare: Path, *arguments: str) -> str:
    """What a command that is not there complains about."""
    code, out, errors = await ended(world, bare, *arguments)
    assert (code, out) == (2, "")
    return errors


async def ended(world: World, bare: Path, *arguments: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, *arguments),
        cwd=bare,
        env=environ(world, bare),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, errors = await process.communicate()
    return process.returncode, out.decode(), errors.decode()


async def begun(world: World, bare: Path, log: Path, **more: str) -> asyncio.subprocess.Process:
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(*COMMAND, "gateway"),
            cwd=bare,
            env=environ(world, bare, **more),
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        ready = (await process.stdout.readline()).decode()
    assert ready.startswith("ready ")
    return process


async def stopped(process: asyncio.subprocess.Process, log: Path) -> None:
    process.terminate()
    async with asyncio.timeout(PATIENCE):
        status = await process.wait()
    assert status == 0, await asyncio.to_thread(log.read_text)


async def test_it_answers_survives_a_kill_and_says_what_is_not_there(
    world: World, bare: Path, tmp_path: Path
) -> None:
    world.configure(more='[voice]\nanswers = "always"\nmodel = "test/tts"\n')
    log = tmp_path / "log"
    process = await begun(world, bare, log, NANOBOT_CRASH_AT="finish:2:before")
    try:
        world.telegram.say(1, "say:hello")
        await world.answered(1, 1)
        world.telegram.say(1, "say:again")  # dies over this one
        async with asyncio.timeout(PATIENCE):
            await process.wait()
        process = await begun(world, bare, log)
        await world.answered(1, 2)
        assert world.texts(1) == ["hello", "again"]
        await stopped(process, log)
        assert log.read_text().count(MISSING) == 2  # starts
        for words in (["agent", "-m", "hello"], ["sessions", "stop"], ["plugins"], ["--help"], []):
            refused = await refusal(world, bare, *words)
            missing, why = refused.splitlines()
            assert MISSING in missing
            assert missing.endswith("install nanobot-gateway again to get them back")
            assert why.startswith("nanobot: only `nanobot gateway [--role ROLE]...` and ")
            assert why.endswith("Install nanobot-gateway again to get it back.")
        assert "voice" in log.read_text()
        assert "is not a known key" in log.read_text()
        assert "model calls are neither limited nor counted" in log.read_text()
    finally:
        if process.returncode is None:
            await stopped(process, log)


async def test_a_single_plugin_that_is_missing_is_named(world: World, bare: Path) -> None:
    plugins = bare / "nanobot" / "plugins"
    shutil.copytree(
        ROOT / "nanobot" / "plugins", plugins, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.rmtree(plugins / "voice")
    _, out, errors = await ended(world, bare, "plugins", "list")
    assert "memory" in out
    (line,) = errors.splitlines()
    assert "voice (nanobot.plugins) is left out: ModuleNotFoundError: " in line
    shutil.rmtree(plugins / "top")
    _, out, errors = await ended(world, bare, "plugins", "list")
    assert "memory" in out
    (line,) = errors.splitlines()
    assert (
        f"2 of nanobot's {len(BUILT_IN)} built-in plugins are not there (top, voice), and " in line
    )
    assert line.endswith("install nanobot-gateway again to get them back")


THEIRS = """
import msgspec

from nanobot.seam.plugin import Plugin
from nanobot.tools.base import Effect, Tool
from nanobot.tools.verdict import PolicyDecision, Verdict


class Args(msgspec.Struct):
    text: str


async def echo(args, context):
    return f"made {args.text}"


class Agreeing:
    def __init__(self, settings, added):
        self.settings, self.added = settings, added

    async def judged(self, tool, args, context, *, foreign):
        return PolicyDecision(verdict=Verdict.ALLOW, rule="theirs", why="it is theirs")

    def reveals(self, text, args=None):
        return False


TOOL = Tool(name="theirs", description="It.", args=Args, run=echo, effect=Effect.NONE)
PLUGIN = Plugin(name="agreeing", summary="Agrees.", provides={"judge": Agreeing})
"""
POINTS = "[nanobot.tools]\ntheirs = theirs:TOOL\n[nanobot.plugins]\nagreeing = theirs:PLUGIN\n"


def bring(bare: Path) -> None:
    """A package with a tool, and with a plugin that would allow each call."""
    (bare / "theirs.py").write_text(THEIRS)
    info = bare / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)


@pytest.mark.parametrize("left", ["nothing", "all but approvals", "all"])
async def test_calls_of_tools_of_packages_are_made_where_nanobot_itself_judges_them(
    world: World, bare: Path, tmp_path: Path, left: str
) -> None:
    bring(bare)
    if left != "nothing":
        plugins = bare / "nanobot" / "plugins"
        ignore = shutil.ignore_patterns("__pycache__", "approvals" if left != "all" else "")
        shutil.copytree(ROOT / "nanobot" / "plugins", plugins, ignore=ignore)
    world.configure(more='[[policy.rules]]\nverdict = "allow"\n')
    log = tmp_path / "log"
    process = await begun(world, bare, log)
    try:
        world.telegram.say(1, 'tool:theirs:{"text": "it"}')
        await world.answered(1, 1)
        (told,) = world.texts(1)
        refused = "the plugin approvals decides on calls, and it is not there" in told
        assert (refused, "made it" in told) == (left != "all", left == "all"), told
        if left == "all but approvals":
            _, explained, _ = await ended(world, bare, "policy", "explain", "theirs", "it")
            assert "deny" in explained
            assert "the plugin approvals decides on calls, and it is not there" in explained
            refusing = await refusal(world, bare, "policy", "rules")
            assert "approvals (nanobot.plugins) is left out: ModuleNotFoundError: " in refusing
            assert "No such command 'rules'" in refusing
        world.telegram.say(1, "say:hello")
        await world.answered(1, 2)
    finally:
        await stopped(process, log)


RULES = """
import asyncio

import msgspec

from nanobot.config.settings.tools import PolicySettings, RuleSettings
from nanobot.errors import ToolArgumentsError
from nanobot.tools.base import Effect, RawArgs, Tool, direct_call
from nanobot.tools.judge import judge_by
from nanobot.tools.registry import ToolRegistry

try:
    from nanobot.tools.walls import WALLS
except ImportError as error:
    print(error)


class Args(msgspec.Struct):
    text: str


async def echo(args, context):
    return args.text


async def main():
    rules = PolicySettings(rules=(RuleSettings(verdict="allow"),))
    tools = ToolRegistry(policy=judge_by(rules))
    tools.register(Tool(name="echo", description="-", args=Args, run=echo, effect=Effect.NONE))
    call = ("echo", '{"text": "it"}', direct_call("1"))
    decision = await tools.judge(*call)
    print(decision.verdict, decision.why)
    print((await tools.perform(*call)).label.privacy.name)
    kinds = {"description": "-", "run": echo, "effect": Effect.NONE, "parameters": {}}
    tools.register(Tool(name="theirs", args=RawArgs, **kinds))
    try:
        await tools.perform("theirs", *call[1:])
    except ToolArgumentsError as error:
        print(error)


asyncio.run(main())
"""


async def test_it_starts_nothing_in_a_sandbox_and_allows_no_call_that_nothing_judges(
    world: World, bare: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", RULES),
        cwd=bare,
        env=environ(world, bare),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, _ = await process.communicate()
    why, verdict, label, arguments = out.decode().splitlines()
    assert why == "nanobot.tools.walls belongs to the built-in plugins, which are not there"
    assert verdict == "deny the plugin approvals decides on calls, and it is not there"
    assert label == "SECRET"
    assert arguments == "the plugin mcp checks these arguments, and it is not there"


MODELS = """
import asyncio

from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import ConfigError
from nanobot.providers.model_choice import choose

own = ProviderSettings(api_base="https://models.example.com/v1", api_key="k")
for label in ("openai/gpt", "groq/oss", "own/m", "openai", "embedded", "auto"):
    for environ in ({}, {"OPENAI_API_KEY": "k"}):
        try:
            choice = asyncio.run(choose(label, {"own": own}, environ))
            print(label, choice.client, choice.api_base, choice.api_key)
        except ConfigError as error:
            print(label, error)
"""
SIGNED = """
import json

from nanobot.providers.base import ChatMessage, ModelRequest, NativeAnswer
from nanobot.providers.openai_request import Quirks, encode_request
from nanobot.providers.openai_stream import AnswerReader

reader = AnswerReader("own/m", thoughts=True)
call = {"id": "c", "function": {"name": "look", "arguments": "{}"}, "extra_content": {"a": 1}}
message = {"reasoning_details": [{"type": "reasoning.text"}], "tool_calls": [call]}
reader.feed(json.dumps({"choices": [{"message": message}]}).encode())
reader.end()
answer = reader.completion()
native = NativeAnswer("own/m", json.dumps({"reasoning_details": [{"type": "reasoning.text"}]}))
said = ChatMessage(role="assistant", tool_calls=answer.tool_calls, native=native)
sent = ModelRequest(model="claude", messages=(ChatMessage(role="user", content="hi"), said))
body = json.loads(encode_request(sent, Quirks(thoughts=True, anthropic_cache=True)))
print(answer.native, [call.name for call in answer.tool_calls], sorted(body["messages"][1]))
"""


async def test_it_reaches_openai_and_addresses_of_the_configuration_and_names_the_plugin_for_others(
    world: World, bare: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MODELS),
        cwd=bare,
        env=environ(world, bare),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, _ = await process.communicate()
    lines = out.decode().splitlines()
    assert lines[0].endswith("set providers.openai.api_key, or export OPENAI_API_KEY.")
    assert lines[1] == "openai/gpt lean https://api.openai.com/v1 k"
    assert lines[4] == lines[5] == "own/m lean https://models.example.com/v1 k"
    for line, label in ((lines[2], "groq/oss"), (lines[6], "openai"), (lines[8], "embedded")):
        assert f'agent.model is "{label}", which needs the plugin models' in line
        assert '[providers.PROVIDER] api_base = "https://..."' in line
    assert "needs the plugin auto" in lines[10]


async def test_calls_of_tools_come_and_go_without_what_vendors_add(
    world: World, bare: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SIGNED),
        cwd=bare,
        env=environ(world, bare),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, _ = await process.communicate()
    assert out.decode() == "None ['look'] ['content', 'role', 'tool_calls']\n"


async def test_it_refuses_a_database_on_a_server_and_names_its_plugin(
    world: World, bare: Path
) -> None:
    world.database_url = "postgresql://nobody:secret@127.0.0.1:1/none"
    world.configure()
    code, out, errors = await ended(world, bare, "gateway")
    assert (code, out) == (3, "")
    assert "database_url needs the plugin postgres. It could not be loaded: " in errors
    assert "secret" not in errors


async def test_a_test_of_an_author_names_the_plugin_that_it_needs(world: World, bare: Path) -> None:
    for path in ("nanobot.testing", "nanobot.testing.tools"):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", f"from {path} import CHECKS"),
            cwd=bare,
            env=environ(world, bare),
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE):
            _, errors = await process.communicate()
        assert process.returncode == 1
        last = errors.decode().splitlines()[-1]
        assert last == f"ImportError: {path} belongs to the plugin kit, which is not there"
