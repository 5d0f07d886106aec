"""Wrong schedules are refused in chats and by the tool of the model with a sentence that names the
schedule and a right one. Over HTTP and on the command line: tests/server and tests/cli."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nanobot.errors import UsageError
from nanobot.plugins.cron.schedule import parse, split
from nanobot.plugins.cron.tool import cron_tool
from nanobot.session.entries import ToolResultEntry
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import OWNER
from tests.agent.tooling import bodies
from tests.plugins.cron.scheduling import editor_of, gateway, jobs_of
from tests.plugins.cron.wrong_schedules import assert_refused, ends_itself, wrong_schedules

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()


async def _answer(bot: FakeGateway, text: str) -> str:
    await bot.channel.push(text, sender=OWNER)
    return (await bot.channel.pop()).text


async def _jobs(bot: FakeGateway) -> list[str]:
    jobs = await jobs_of(bot.process).listed(state="", by="", find="", limit=500)
    return [job.plan.schedule for job in jobs if job.state != "system"]


def test_every_wrong_schedule_is_refused() -> None:
    for schedule in wrong_schedules(25):
        with pytest.raises(UsageError) as raised:
            parse(schedule, "UTC", NOON)
        assert_refused(str(raised.value), schedule, NOON)


async def test_in_chats() -> None:
    async with MemoryHome(ManualClock(NOON)) as home, gateway(home=home) as bot:
        assert "Job #1" in await _answer(bot, "/cron add name=tea every day at 9 Tea!")
        for schedule in wrong_schedules(3):
            for command in (
                f'/cron add schedule="{schedule}" Look at it',
                f'/cron edit tea schedule="{schedule}"',
                f"/cron preview {schedule}",
            ):
                assert_refused(await _answer(bot, command), schedule, NOON)
            if ends_itself(schedule):  # where it ends is not known: its beginning is named
                said = await _answer(bot, f"/cron add {schedule} Look at it")
                assert_refused(said, schedule, NOON, named=6)
        assert await _jobs(bot) == ["0 9 * * *"]


async def test_by_the_tool_of_the_model() -> None:
    schedules = list(wrong_schedules(1))
    calls = [asks_for("cron", action="add", schedule=each, message="Look") for each in schedules]
    async with (
        MemoryHome(ManualClock(NOON)) as home,
        gateway(ScriptedProvider(*calls, "Done."), home=home) as bot,
    ):
        bot.tools.register(cron_tool(editor_of(bot)))
        assert await _answer(bot, "remind me") == "Done."
        results = [entry.text for entry in bodies(bot, ToolResultEntry)]
        assert len(results) == len(schedules)
        for result, schedule in zip(results, schedules, strict=True):
            assert_refused(result, schedule, NOON)
        assert await _jobs(bot) == []


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("every weekday at 25 Look", None),
        ("every weekday at 9:75 Look", None),
        ("every weekday 9:75 Look", None),
        ("tomorrow at 26 Look", None),
        ("every 2 hours at 5 Look", None),
        ("每天25点看看新闻", None),
        ("0 0 9 * * 1-5 Look at it", ("0 0 9 * * 1-5", "Look at it")),  # refused by its six fields
        ("0 0 9 * * 5 pushups", ("0 0 9 * *", "5 pushups")),
        ("every weekday at 9 10:30 is the meeting", ("every weekday at 9", "10:30 is the meeting")),
        ("每天9点 10点开会", ("每天9点", "10点开会")),
        ("every monday at the office: Look", ("every monday", "at the office: Look")),
        ("every day 5 pushups", ("every day", "5 pushups")),
    ],
)
def test_a_time_that_is_none_is_not_taken_for_what_is_to_be_done(
    text: str, apart: tuple[str, str] | None
) -> None:
    if apart is not None:
        assert split(text, "UTC", NOON) == apart
        return
    with pytest.raises(UsageError, match="no such time of day"):
        split(text, "UTC", NOON)
