"""What triage decides to start is a real background run, whose end is told once."""

from __future__ import annotations

import msgspec

from nanobot.agent.runner import Stage
from nanobot.errors import ToolError
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.common.runs.run_types import TaskContext
from nanobot.plugins.triage.settings import DecisionSettings
from nanobot.plugins.triage.triage import Triage
from nanobot.session.run_types import TaskResult
from nanobot.session.states import RunState
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Options
from nanobot.testing.model import ScriptedProvider
from tests.plugins.tasks.working import Words, say, tasks_of
from tests.plugins.triage.test_triage import decision, model, run
from tests.stored import lists_of


def mind(bot: FakeGateway) -> list[Stage]:
    clock, settings = bot.home.clock, DecisionSettings()
    triage = Triage(AuxiliaryModels(bot.provider), bot.starter, clock, settings)
    return [triage]


async def _fails(_: Words, __: TaskContext) -> TaskResult:
    raise ToolError("no bed")


SLEEP = msgspec.structs.replace(say(), name="sleep")
RESTLESS = msgspec.structs.replace(say(_fails), name="sleep")


def started(conversation: str | None = "fake:1") -> ScriptedProvider:
    wanted = run(conversation=conversation, input={"text": "hi"})
    return model(decision("reply_and_run", reply={"content": "At once."}, run=wanted))


async def test_the_reply_comes_at_once_and_the_end_is_told_where_it_was_asked_for() -> None:
    async with gateway(started(), options=Options(stages=mind, types=(SLEEP,))) as bot:
        await bot.channel.push("sleep")
        texts = sorted([(await bot.channel.pop()).text for _ in range(2)])
        assert texts == ["At once.", "Task completed: Nap\n\nsaid hi"]
        (task,) = await tasks_of(bot)
        assert (task.state, task.type, task.parent_session) == (
            RunState.COMPLETED,
            "sleep",
            "fake:1",
        )
        await bot.settle()
        assert len(bot.channel.sent) == 2


async def test_a_failure_is_told_by_its_template() -> None:
    async with gateway(started(), options=Options(stages=mind, types=(RESTLESS,))) as bot:
        await bot.channel.push("sleep")
        texts = [(await bot.channel.pop()).text for _ in range(2)]
        assert any(text.startswith("Task failed: Nap") and "no bed" in text for text in texts)


async def test_without_a_conversation_it_opens_an_unread_one() -> None:
    async with gateway(started(None), options=Options(stages=mind, types=(SLEEP,))) as bot:
        await bot.channel.push("sleep")
        assert (await bot.channel.pop()).text == "At once."
        await bot.settle()
        sessions = await lists_of(bot.records).newest(limit=9, unread=True)
        assert "Task completed: Nap" in [session.title for session in sessions]


async def test_a_type_that_is_not_there_is_refused_with_the_reply() -> None:
    async with gateway(started(), options=Options(stages=mind)) as bot:
        await bot.channel.push("sleep")
        assert (await bot.channel.pop()).text.startswith("At once.\n\n(I could not start Nap: ")
