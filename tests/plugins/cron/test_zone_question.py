"""Where neither the configuration nor the machine says where people are, the first job asks."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from nanobot.plugins.cron.tool import cron_tool
from nanobot.plugins.cron.zone_question import (
    _ANYWHERE,
    _LANGUAGES,
    ZoneQuestion,
    likely_zones,
    question,
)
from nanobot.session.entries import ToolResultEntry
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import OWNER
from tests.agent.tooling import bodies
from tests.plugins.cron.scheduling import editor_of, gateway, jobs_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()


async def _answer(bot: FakeGateway, text: str) -> str:
    await bot.channel.push(text, sender=OWNER)
    return (await bot.channel.pop()).text


def _unknown(bot: FakeGateway) -> None:
    """The gateway of a machine that says UTC."""
    editor_of(bot).zone_question = ZoneQuestion(jobs_of(bot.process))


async def test_the_first_job_asks_and_its_remedy_works() -> None:
    async with MemoryHome(ManualClock(NOON)) as home, gateway(home=home) as bot:
        _unknown(bot)
        first = await _answer(bot, "/cron add every weekday at 9 お茶を飲む")
        assert "You write Japanese: is Asia/Tokyo your time zone?" in first
        assert "`nanobot config set agent.zone Asia/Tokyo`" in first
        remedy = first.split("`")[1]
        assert remedy == "/cron edit 1 zone=Asia/Tokyo"
        moved = await _answer(bot, remedy)
        assert "(Asia/Tokyo)" in moved
        assert "Mon 2026-03-02 09:00" in moved
        second = await _answer(bot, "/cron add every day at 8 お茶")
        assert "time zone" not in second


async def test_a_named_zone_or_an_interval_needs_none() -> None:
    async with MemoryHome(ManualClock(NOON)) as home, gateway(home=home) as bot:
        _unknown(bot)
        for command in ("zone=Asia/Tokyo every day at 9 Tea", "every 2 hours Tea"):
            assert "zone is yours" not in await _answer(bot, f"/cron add {command}")


async def test_where_the_zone_is_known_nobody_is_asked() -> None:
    async with MemoryHome(ManualClock(NOON)) as home, gateway(home=home) as bot:
        assert "zone is yours" not in await _answer(bot, "/cron add every day at 9 Tea")


async def test_the_model_is_told_to_ask() -> None:
    call = asks_for("cron", action="add", schedule="every day at 9", message="Tea")
    async with (
        MemoryHome(ManualClock(NOON)) as home,
        gateway(ScriptedProvider(call, "Done."), home=home) as bot,
    ):
        _unknown(bot)
        bot.tools.register(cron_tool(editor_of(bot)))
        await _answer(bot, "tea every day")
        (result,) = (entry.text for entry in bodies(bot, ToolResultEntry))
        assert "\nAsk the person: The times are in UTC" in result
        assert "Which time zone is yours" in result


@pytest.mark.parametrize(
    ("text", "zones"),
    [
        ("Look at the builds", ()),
        ("Schau nach den Builds, bitte täglich", ()),
        ("提醒我喝水", ("Asia/Shanghai", "Asia/Taipei", "Asia/Singapore")),
        ("水を飲むように言って", ("Asia/Tokyo",)),
        ("물 마시라고 알려줘", ("Asia/Seoul",)),
        ("напомни мне", ("Europe/Moscow", "Europe/Kyiv", "Europe/Sofia", "Asia/Almaty")),
        ("the angle α is 5", ()),
        ("Nhắc tôi uống nước", ("Asia/Ho_Chi_Minh",)),
    ],
)
def test_what_is_written_says_where_it_is_mostly_spoken(text: str, zones: tuple[str, ...]) -> None:
    assert likely_zones(text)[1] == zones


def test_every_zone_that_is_proposed_is_one_and_several_are_all_named() -> None:
    for language, letters, zones in [*_LANGUAGES, ("", "", _ANYWHERE)]:
        assert all(ZoneInfo(zone) for zone in zones), language
        letter = chr(int(letters[3:7], 16)) * 2 if letters else "x"
        asked = question(letter, 7, "UTC")
        assert all(zone in asked for zone in zones), asked
        assert "?" in asked or "？" in asked
        assert f"/cron edit 7 zone={zones[0]}" in asked
