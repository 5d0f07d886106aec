"""Our run types, against the checks that are shipped for authors of others."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nanobot.operations.engine import Engine
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.runs.run_types import RunType, TaskContext
from nanobot.plugins.tasks.builtin import builtin_types
from nanobot.plugins.web_tools.fetch import Web, web_fetch_tool
from nanobot.session.run_types import TaskResult
from nanobot.testing import gateway, run_types
from nanobot.testing.gateway import MemoryHome, Process
from tests.doubles.web_server import PUBLIC, WebServer


class Args(msgspec.Struct, frozen=True):
    word: str
    count: int = 1


@pytest.mark.parametrize("check", run_types.CHECKS, ids=lambda check: check.__name__)
async def test_run_types_of_ours_keep_what_the_port_promises(
    engine: Engine, tmp_path: Path, check: run_types.Check
) -> None:
    kinds = {
        kind.name: kind
        for kind in builtin_types(engine.journal, ConfinedFiles(tmp_path / "workspace"))
    }
    tools = [tool for tool, _, _ in engine.tools.listed()]
    good: dict[str, dict[str, object]] = {
        "agent": {"task": "count"},
        "sleep": {"seconds": 0, "message": "tea"},
        "index_repo": {"path": "."},
    }
    for name, given in good.items():
        await check(run_types.RunTypeCase(kind=kinds[name], good=given, tools=tools))


@pytest.mark.parametrize("check", run_types.CHECKS, ids=lambda check: check.__name__)
async def test_those_over_conversations_and_pages_keep_it_too(
    tmp_path: Path, check: run_types.Check
) -> None:
    async with WebServer() as site, MemoryHome() as home, gateway(home=home) as bot:
        await bot.channel.push("Hello, I am Ann.", chat="1")
        await bot.channel.pop()
        kinds = {
            kind.name: kind
            for kind in builtin_types(Process(home).journal, ConfinedFiles(tmp_path))
        }
        fetch = web_fetch_tool(Web(Addresses((f"{PUBLIC}/32",), site.look_up)))
        good = {
            "summarize_conversation": {"session_key": "fake:1"},
            "fetch_web": {"url": site.page("/owls", b"<p>Owls see well.</p>")},
        }
        for name, given in good.items():
            await check(run_types.RunTypeCase(kind=kinds[name], good=given, tools=[fetch]))


async def performed(given: Args, bench: TaskContext) -> TaskResult:
    return TaskResult(text="")


KIND = RunType(name="mute", description="Mute.", args=Args, text=lambda _: "", perform=performed)


@pytest.mark.parametrize(
    ("check", "promise"),
    [
        (run_types.takes_its_input, "its text describes the task"),
        (run_types.performs_and_says_so, "its result has a text"),
    ],
)
async def test_a_run_types_broken_promise_is_named(check: run_types.Check, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        await check(run_types.RunTypeCase(kind=KIND, good={"word": "a"}))
