"""Zones by their names, also on a machine that has no database of them."""

from __future__ import annotations

import ast
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nanobot.agent import entry_messages
from nanobot.config.settings.agent import AgentSettings
from nanobot.operations.rendering import Now, moment
from nanobot.plugins.budgets.limits import Budgets
from nanobot.plugins.budgets.settings import BudgetSettings
from nanobot.plugins.common.times import zones
from nanobot.plugins.cron.schedule import parse
from nanobot.plugins.memory.days import day_of
from nanobot.testing import gateway
from nanobot.zones import zone_named, zone_or_utc
from tests.plugins.cron.scheduling import gateway as with_jobs

ROOT = Path(__file__).parent.parent
AT = 1_800_000_000.0
ODD = ["America", "CET-1CEST", "", "/etc/passwd", "../../etc/passwd", "UTC\0", "x" * 5_000]
OF_LISTED_NAMES = frozenset({"nanobot/zones.py", "nanobot/plugins/common/times/zones.py"})
CACHES = (zone_named, zones.zone_of, zones._zones, entry_messages._minute)


def forget() -> None:
    zoneinfo.ZoneInfo.clear_cache()
    for cache in CACHES:
        cache.cache_clear()


@pytest.fixture
def no_database() -> Iterator[None]:
    """A machine without files of zones."""
    zoneinfo.reset_tzpath(to=[])
    forget()
    if "UTC" in zoneinfo.available_timezones():
        pytest.skip("the package tzdata is installed")
    yield
    zoneinfo.reset_tzpath()
    forget()


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", *ODD])
def test_whatever_its_name_times_are_shown_by_some_zone(no_database: None, name: str) -> None:
    assert zone_or_utc(name).key == zones.known_zone(name) == "UTC"
    assert datetime.fromtimestamp(AT, zone_or_utc(name)) == datetime.fromtimestamp(AT, UTC)
    assert day_of(AT, name) == "2027-01-15"
    assert moment(AT, Now(AT, name))
    assert entry_messages._minute(AT // 60, name) == "Fri 2027-01-15 08:00"
    assert Budgets(BudgetSettings(cost_per_day=1.0), name).period(AT).day == "2027-01-15"


def test_utc_can_be_configured_and_scheduled_by(no_database: None) -> None:
    assert AgentSettings(zone="UTC").zone == "UTC"
    assert parse("30 9 * * *", "UTC", AT).next(AT) == AT + 5_400
    assert zones.zone_of("UTC").utcoffset(None) is not None


async def test_messages_are_answered_and_jobs_fire(no_database: None) -> None:
    async with gateway() as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"
    async with with_jobs() as bot:
        await bot.channel.push("/cron add every 2 hours Look")
        assert "Look" in (await bot.channel.pop()).text


def test_with_a_database_odd_names_are_none() -> None:
    forget()
    assert zone_named("Europe/Berlin") is not None
    assert not any(map(zone_named, ODD))


@pytest.mark.process
def test_nothing_else_takes_a_zone_of_a_name_that_may_not_be_there() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("nanobot", "channels")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "ZoneInfo"
    }
    assert found == OF_LISTED_NAMES
