"""Times are shown by the clocks of `agent.zone`, wherever a person or the model reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from nanobot.agent.settings import RunSettings
from nanobot.operations.rendering import Now, cell, pairs
from nanobot.plugins.memory.days import day_of
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.machine import ManualClock
from nanobot.testing.platform import OWNER
from tests.plugins.conversations.reading import READING

ROOT = Path(__file__).resolve().parents[2] / "nanobot"
NIGHT = 1_800_054_000.0  # 2027-01-15 23:00 in UTC, the next day in Tokyo
TOKYO = Now(NIGHT + 5 * 86_400, "Asia/Tokyo")


class _Row(msgspec.Struct):
    created_at: float


def test_a_moment_is_shown_in_the_zone_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    assert cell("at", NIGHT, TOKYO) == "2027-01-16 08:00"
    assert pairs(_Row(NIGHT), TOKYO) == [("Created at", "2027-01-16 08:00:00 JST (5 days ago)")]
    assert day_of(NIGHT, "Asia/Tokyo") == "2027-01-16"


@pytest.mark.parametrize("zone", ["", "America", "../etc/passwd", "CET-1CEST", "\0"])
def test_a_zone_that_is_none_costs_no_list(zone: str) -> None:
    assert cell("at", NIGHT, Now(TOKYO.at, zone)).startswith("2027-01-1")
    assert day_of(NIGHT, zone) == "2027-01-15"


async def _answer(bot: FakeGateway, text: str) -> str:
    await bot.channel.push(text, sender=OWNER)
    return (await bot.channel.pop()).text


async def test_lists_in_chats_are_in_the_zone_of_the_gateway() -> None:
    options = Options(settings=RunSettings(zone="Asia/Tokyo"), brings=READING.brings)
    clock = ManualClock(NIGHT)
    async with MemoryHome(clock) as home, gateway(home=home, options=options) as bot:
        await _answer(bot, "hello")
        clock.advance(2 * 86_400.0)
        assert "2027-01-16 08:00" in await _answer(bot, "/sessions list")


# Where a time is made without the zone of a person, and why that is right.
_OTHERWISE = {
    "plugins/common/files/placed_files.py": "names of folders, the same wherever they are read",
    "plugins/cron/schedule.py": "a schedule's own form, which ends in Z",
    "agent/entry_messages.py": "converted to the zone of the message in the same line",
    "plugins/budgets/limits.py": "converted to the zone of the budgets in the same line",
    "operations/rendering.py": "converted to the zone of who reads",
}


def _zoneless() -> Iterator[str]:
    """Files with a time in UTC, or by the clock of this process."""
    for file in ROOT.rglob("*.py"):
        text = file.read_text("utf-8")
        if not any(name in text for name in ("fromtimestamp", "localtime", "astimezone")):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            arguments = [ast.unparse(each) for each in node.args]
            made = node.func.attr == "fromtimestamp" and (len(arguments) < 2 or "UTC" in arguments)
            local = node.func.attr in {"localtime", "astimezone"} and not arguments
            if made or local:
                yield str(file.relative_to(ROOT))


def test_no_other_time_is_shown_without_a_zone() -> None:
    assert set(_zoneless()) == set(_OTHERWISE)
