"""The built-in types of background runs, each over the whole gateway."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import NanobotError, ToolError
from nanobot.messages import EventKind, Role
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.runs.background_runs import Parent, TaskRequest
from nanobot.plugins.common.runs.run_types import TaskContext
from nanobot.plugins.file_tools.tools import file_tools
from nanobot.plugins.tasks.builtin import builtin_types
from nanobot.plugins.tasks.port import MAX_IN_ALL
from nanobot.plugins.web_tools.fetch import Web, web_fetch_tool
from nanobot.session.entries import PostEntry
from nanobot.session.run_types import TaskResult
from nanobot.session.states import RunState
from nanobot.testing import gateway
from nanobot.testing.gateway import MemoryHome, Options, Process
from nanobot.testing.model import ScriptedProvider
from nanobot.tools.base import AnyTool
from tests.agent.tooling import bodies
from tests.doubles.web_server import PUBLIC, WebServer
from tests.plugins.tasks.working import Words, parent, say, tasks_of, the_run, wanted, with_types


def options(home: MemoryHome, folder: Path) -> Options:
    return Options(types=tuple(builtin_types(Process(home).journal, ConfinedFiles(folder))))


def asked(kind: str, by: Parent | None = None, **given: object) -> TaskRequest:
    return TaskRequest(type=kind, title="It", input=given, key="k", parent=by or parent())


def web(site: WebServer) -> AnyTool:
    return web_fetch_tool(Web(Addresses((f"{PUBLIC}/32",), site.look_up)))


async def test_sleep_says_its_message_when_the_time_is_over(tmp_path: Path) -> None:
    async with MemoryHome() as home:
        chosen = options(home, tmp_path)
        async with gateway(home=home, options=chosen) as bot:
            run_id = await bot.starter.start(
                asked("sleep", seconds=60, message="The tea is ready.")
            )
            await bot.settle()
            assert (await the_run(bot, run_id)).state is RunState.QUEUED
            bot.crash()
        home.clock.advance(61.0)  # type: ignore[attr-defined]
        async with gateway(home=home, options=chosen) as bot:
            assert (await bot.channel.pop()).text == "Task completed: It\n\nThe tea is ready."
            await bot.settle()
            assert len(bodies(bot, PostEntry)) == 1


@pytest.mark.parametrize("seconds", [-1, 30 * 86_400 + 1, "soon"])
async def test_nobody_sleeps_for_no_time_or_for_ever(tmp_path: Path, seconds: object) -> None:
    async with MemoryHome() as home, gateway(home=home, options=options(home, tmp_path)) as bot:
        with pytest.raises(ToolError, match="seconds"):
            await bot.starter.start(asked("sleep", seconds=seconds))
        assert await tasks_of(bot) == []


async def test_a_conversation_is_summed_up_by_the_model(tmp_path: Path) -> None:
    model = ScriptedProvider("Hi.", "They greeted each other.")
    async with (
        MemoryHome() as home,
        gateway(model, home=home, options=options(home, tmp_path)) as bot,
    ):
        await bot.channel.push("Hello, I am Ann.")
        await bot.channel.pop()
        await bot.starter.start(asked("summarize_conversation"))
        text = (await bot.channel.pop()).text
        assert text == "Task completed: It\n\nThey greeted each other."
        question = str(model.requests[-1].messages[-1].content)
        assert "Hello, I am Ann." in question
        assert "assistant: Hi." in question
        assert model.requests[-1].tools == ()


async def test_a_member_has_no_other_conversation_summed_up(tmp_path: Path) -> None:
    async with MemoryHome() as home, gateway(home=home, options=options(home, tmp_path)) as bot:
        await bot.channel.push("secret", chat="2")
        await bot.channel.pop()
        by = parent(role=Role.MEMBER)
        await bot.starter.start(asked("summarize_conversation", by, session_key="fake:2"))
        text = (await bot.channel.pop(chat="1")).text
        assert text == "Task failed: It\n\nonly owners have other conversations summed up"


@pytest.mark.process
async def test_a_page_is_fetched_and_is_content_from_outside(tmp_path: Path) -> None:
    async with (
        WebServer() as site,
        MemoryHome() as home,
        gateway(tools=[web(site)], home=home, options=options(home, tmp_path)) as bot,
    ):
        site.page("/owls", b"<p>Owls see well.</p>" + b"<p>More.</p>" * 2_000, "text/html")
        watching = bot.bus.subscribe(None, frozenset({EventKind.STATUS}))
        await bot.starter.start(asked("fetch_web", url=site.url("/owls")))
        text = (await bot.channel.pop()).text
        assert text.startswith(f"Task completed: It\n\n{site.url('/owls')}")
        assert "Owls see well." in text
        assert "more characters)" in text
        assert bodies(bot, PostEntry)[0].tainted
        notes: list[str] = []
        while not any("fetching" in note for note in notes):
            notes.append(str((await anext(aiter(watching))).payload.get("text", "")))
        bot.bus.unsubscribe(watching)


async def test_a_folder_is_listed_in_a_note(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("x" * 10)
    (tmp_path / "src/b.md").write_text("y" * 5)
    tools = file_tools(ConfinedFiles(tmp_path))
    async with (
        MemoryHome() as home,
        gateway(tools=tools, home=home, options=options(home, tmp_path)) as bot,
    ):
        await bot.starter.start(asked("index_repo", path="src"))
        text = (await bot.channel.pop()).text
        assert text.endswith("src: 2 files, 15 bytes. The list is in notes/index-src.md.")
        note = (tmp_path / "notes/index-src.md").read_text()
        assert "a.py 10" in note
        assert "- .py 10" in note


async def test_a_folder_outside_is_not_listed(tmp_path: Path) -> None:
    tools = file_tools(ConfinedFiles(tmp_path / "w"))
    async with (
        MemoryHome() as home,
        gateway(tools=tools, home=home, options=options(home, tmp_path / "w")) as bot,
    ):
        await bot.starter.start(asked("index_repo", path="../"))
        assert (await bot.channel.pop()).text.startswith("Task failed: It\n\n")


# Of every type


async def test_watchers_are_told_how_far_a_run_is_and_what_it_tries_again() -> None:
    tries = 0

    async def work(given: Words, bench: TaskContext) -> TaskResult:
        nonlocal tries
        tries += 1
        bench.tell(f"try {tries}")
        if tries == 1:
            raise ToolError("the line is busy")
        return TaskResult(text="done")

    async with gateway(options=with_types(say(work))) as bot:
        watching = bot.bus.subscribe(None, frozenset({EventKind.STATUS}))
        await bot.starter.start(wanted("hi", by=parent()))
        await bot.channel.pop()
        notes: list[str] = []
        while "try 2" not in notes:
            event = await anext(aiter(watching))
            if event.payload.get("state") == "progress":
                notes.append(str(event.payload["text"]))
        bot.bus.unsubscribe(watching)
        assert notes == ["try 1", "the line is busy; trying again in 2 s", "try 2"]


async def test_there_are_not_too_many_in_all() -> None:
    async with gateway(options=with_types(say(delay=1_000.0))) as bot:
        started = [
            await bot.starter.start(
                wanted("hi", key=f"k{number}", by=parent(session=f"fake:{number}"))
            )
            for number in range(MAX_IN_ALL)
        ]
        with pytest.raises(ToolError, match="200 background runs wait or work already"):
            await bot.starter.start(wanted("hi", key="more"))
        assert await bot.starter.start(wanted("hi", key="k0")) == started[0]


async def test_runs_are_listed_shown_cancelled_and_asked_for_again() -> None:
    async with gateway(options=with_types(say(delay=1_000.0))) as bot:
        run_id = await bot.starter.start(wanted("hi", by=parent()))
        await bot.settle()
        desk = bot.operations
        (listed,) = await desk.call("runs list", {"kind": "task", "state": "live"})
        assert (listed.id, listed.type, listed.title) == (run_id, "say", "Say hi")
        await bot.channel.push("/runs")
        assert run_id in (await bot.channel.pop()).text
        await bot.channel.push(f"/runs cancel {run_id}", key="once")
        await bot.channel.push(f"/runs cancel {run_id}", key="once")  # delivered again
        texts = {(await bot.channel.pop()).text for _ in range(2)}
        assert "Task cancelled: Say hi" in texts
        with pytest.raises(NanobotError, match="has ended already"):
            await desk.call("runs cancel", {"id": run_id})
        await bot.channel.push(f"/runs retry {run_id}", key="retry")
        await bot.channel.push(f"/runs retry {run_id}", key="retry")
        await bot.settle()
        assert [run.state for run in await tasks_of(bot)] == [RunState.ABORTED, RunState.QUEUED]
