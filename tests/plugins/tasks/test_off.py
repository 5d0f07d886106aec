"""A gateway whose background runs are switched off keeps them, says so, and answers people."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from loguru import logger

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.errors import UsageError
from nanobot.messages import RunOptions
from nanobot.plugins.common.commands.at_rest import operations as operations_at_rest
from nanobot.plugins.common.runs.background_runs import NewTask, TaskRequest
from nanobot.plugins.common.views.plugins import views_of as plugin_views
from nanobot.plugins.setup.doctor.checks import findings
from nanobot.plugins.tasks.store.tasks import SqlTasks
from nanobot.providers.one_provider import OneProvider
from nanobot.session.states import RunState
from nanobot.testing.model import ScriptedProvider
from tests.store.empty import with_empty_store
from tests.stored import log_of, runs_of

OFF = '[plugins]\noff = ["tasks"]\n'
NO_MODEL = '[providers.absent]\napi_base = "http://127.0.0.1:9"\n[agent]\nmodel = "absent/one"\n'
"""Refuses at once, where doctor would otherwise start the embedded model to try it."""


class Home:
    """A folder whose gateway can be opened and closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        with_empty_store(folder)

    def gateway(self, settings: str = "") -> Gateway:
        (self._folder / "config.toml").write_text(f"{settings}{NO_MODEL}remember = 'off'\n")
        environ = {"NANOBOT_HOME": str(self._folder)}
        program = Program(provider=OneProvider(ScriptedProvider()))
        return Gateway(load(environ), environ, channels=False, program=program)

    @asynccontextmanager
    async def serving(self, settings: str = "") -> AsyncIterator[Parts]:
        gateway = self.gateway(settings)
        async with gateway.serving("a test", lambda _line: None) as parts:
            yield parts

    async def recorded(self, kind: str = "sleep") -> str:
        """A background run that was recorded by a gateway that died."""
        async with operations_at_rest(self.gateway(), "a test") as operations:
            journal = operations.engine.journal
            tasks = SqlTasks(journal.database, journal.writer)  # type: ignore[attr-defined]
            options = RunOptions(direct=True, unattended=True)
            if kind == "sleep":
                given = '{"seconds": 0, "message": "Tea"}'
                options = msgspec.structs.replace(options, type=kind, input=given)
            request = TaskRequest(type=kind, title="Make tea", input={}, key=kind)
            task = NewTask(request=request, text="tea", options=options, report="post")
            return await tasks.create(task)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


async def ended(parts: Parts, run_id: str) -> RunState:
    """How a run ended."""
    async with asyncio.timeout(30):
        while True:
            run = await runs_of(parts.engine.records).run(run_id)
            assert run is not None
            if run.state in (RunState.COMPLETED, RunState.FAILED, RunState.ABORTED):
                return run.state
            await asyncio.sleep(0.05)


async def reports(parts: Parts, run_id: str) -> list[str]:
    entries = await log_of(parts.engine.records).entries(f"task:{run_id}", after=0, limit=100)
    return [each.body["text"] for each in entries if each.body and each.kind == "post"]


@pytest.mark.process
@pytest.mark.parametrize("kind", ["sleep", "agent"])
async def test_a_recorded_run_waits_while_the_plugin_is_off_and_is_done_once_afterwards(
    home: Home, kind: str
) -> None:
    run_id = await home.recorded(kind)
    for _ in range(2):
        async with home.serving(OFF) as parts:
            await asyncio.sleep(0.5)
            (run,) = await parts.operations.call("runs list", {"kind": "task", "state": "live"})
            assert (run.id, run.state, run.title) == (run_id, "queued", "Make tea")
            assert await reports(parts, run_id) == []
    async with home.serving() as parts:
        assert await ended(parts, run_id) == RunState.COMPLETED
        (report,) = await reports(parts, run_id)
        assert report.startswith("Task completed: Make tea\n\n")
    async with home.serving() as parts:
        await asyncio.sleep(0.5)
        assert await reports(parts, run_id) == [report]


async def test_a_run_that_had_begun_waits_as_well(home: Home) -> None:
    run_id = await home.recorded()
    async with operations_at_rest(home.gateway(), "a test") as operations:
        claim = await operations.engine.journal.claim(f"task:{run_id}", "unused", "UTC")
        assert claim is not None
    async with home.serving(OFF) as parts:
        await asyncio.sleep(0.5)
        run = await runs_of(parts.engine.records).run(run_id)
        assert run is not None
        assert (run.state, run.attempts) == ("preparing", 1)
    async with home.serving() as parts:
        assert await ended(parts, run_id) == RunState.COMPLETED
        assert len(await reports(parts, run_id)) == 1


async def test_the_gateway_says_how_many_wait_and_how_they_continue(home: Home) -> None:
    said = "1 background run(s) wait for the plugin tasks, which is not on"
    await home.recorded()
    lines: list[str] = []
    sink = logger.add(lambda line: lines.append(str(line)), format="{message}")
    try:
        async with home.serving(OFF):
            assert said in "".join(lines)
        lines.clear()
        async with home.serving():
            assert "wait for the plugin tasks" not in "".join(lines)
    finally:
        logger.remove(sink)


async def test_what_needs_it_names_it_and_a_person_can_end_what_waits(home: Home) -> None:
    run_id = await home.recorded()
    async with home.serving(OFF) as parts:
        assert "spawn" not in [tool.name for tool, *_ in parts.engine.tools.listed()]
        views = {each.name: each for each in plugin_views(parts.plugged)}
        assert views["tasks"].why == "It is switched off: nanobot plugins on tasks"
        assert views["triage"].why == "It needs the plugin tasks: nanobot plugins on tasks"
        with pytest.raises(UsageError, match="belongs to the plugin tasks, which is off here"):
            await parts.operations.call("runs retry", {"id": run_id})
        cancelled = await parts.operations.call("runs cancel", {"id": run_id})
        assert cancelled.state == "aborted"
    async with home.serving() as parts:
        await asyncio.sleep(0.5)
        assert await ended(parts, run_id) == RunState.ABORTED


async def test_doctor_says_how_many_wait_while_it_is_off(home: Home) -> None:
    await home.recorded()
    for settings, texts in (
        ("", []),
        (OFF, ["1 background run waits for the plugin tasks. It is switched off: "]),
    ):
        environ = home.gateway(settings).config.home
        found = await findings({"NANOBOT_HOME": str(environ)})
        waits = [each.text for each in found if each.about == "runs"]
        assert [text.split("nanobot plugins")[0] for text in waits] == texts
