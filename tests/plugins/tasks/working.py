"""Types of runs for tests, and a conversation that starts them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from nanobot.messages import Address, Role
from nanobot.plugins.common.runs.background_runs import (
    Parent,
    Report,
    TaskRecords,
    TaskRequest,
    TaskStarter,
)
from nanobot.plugins.common.runs.run_types import RunType, TaskContext
from nanobot.plugins.common.views.views import RunView
from nanobot.plugins.runs.operations import operations as of_runs
from nanobot.plugins.tasks.background import BackgroundRuns
from nanobot.plugins.tasks.operations import operations
from nanobot.providers.base import Completion, ModelRequest
from nanobot.session.run_types import TaskResult
from nanobot.testing.gateway import Brought, FakeGateway, Options
from nanobot.testing.model import Held, asks_for, last_text
from tests.stored import runs_of

CHAT = Address("fake", "1")


def brings(bot: FakeGateway) -> Brought:
    """What the plugin brings to people."""
    assert isinstance(bot.background, BackgroundRuns)
    offers = {TaskStarter: bot.background.starter, TaskRecords: bot.background.records}
    return Brought(operations=(*of_runs(), *operations()), offers=offers)


SPAWNING = Options(spawn=True, brings=brings)


class Words(msgspec.Struct, forbid_unknown_fields=True):
    """Input of the types here."""

    text: str = ""


Work = Callable[[Words, TaskContext], Awaitable[TaskResult]]


async def _say(given: Words, _: TaskContext) -> TaskResult:
    return TaskResult(text=f"said {given.text}")


def say(then: Work = _say, *, report: Report = "post", delay: float = 0.0) -> RunType[Words]:
    """A type of run, named `say`."""
    return RunType(
        name="say",
        description="Says it.",
        args=Words,
        text=lambda given: given.text,
        perform=then,
        delay=lambda _: delay,
        report=report,
    )


def with_types(*types: RunType[Any]) -> Options:
    """A gateway with these."""
    return Options(types=types, spawn=True, brings=brings)


def parent(*, role: Role = Role.OWNER, tainted: bool = False, session: str = "fake:1") -> Parent:
    """Who asks, in the chat of the fake channel."""
    return Parent(
        session_key=session,
        run_id="",
        address=CHAT,
        sender_id="1001",
        role=role,
        tainted=tainted,
    )


def wanted(
    text: str = "it", *, key: str = "k", by: Parent | None = None, report: Report | None = None
) -> TaskRequest:
    """A run of the type `say`."""
    return TaskRequest(
        type="say", title=f"Say {text}", input={"text": text}, key=key, parent=by, report=report
    )


async def the_run(bot: FakeGateway, run_id: str) -> RunView:
    """One run as people see it."""
    run = await runs_of(bot.records).run(run_id)
    assert run is not None
    return run


async def tasks_of(bot: FakeGateway) -> list[RunView]:
    """The runs that were started, the oldest first."""
    listed = await runs_of(bot.records).listed(session="", state="", limit=100, kind="task")
    return [run for run in reversed(listed) if run.type]


Answers = Callable[[ModelRequest], Completion | str | Held]


def delegating(child: Completion | str | Held = "the moon is 384,400 km away") -> Answers:
    """A model that has every question of a person worked out by a subagent, which gives `child`;
    it tells the person what came of it."""

    def answer(request: ModelRequest) -> Completion | str | Held:
        text = last_text(request)
        if text.startswith("Started #"):
            return "I am on it."
        if "[background run" in text:
            return f"It says: {text.rpartition(chr(10))[2]}"
        if "You work on this in the background" in text:
            return child
        return asks_for("spawn", task=f"find out: {text}", label="The moon")

    return answer
