"""Whatever ends the process around a beat: it is done once at most, and told once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.errors import StoreError
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.common.views.digests import DIGEST
from nanobot.plugins.quiet.hours import QuietHours
from nanobot.plugins.quiet.settings import QuietSettings
from nanobot.plugins.quiet.store import limiter
from nanobot.store.database import schema
from nanobot.testing.gateway import MemoryHome, Options
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import FakeChannel
from tests.plugins.cron.scheduling import gateway
from tests.plugins.heartbeat.beating import at, beaten, heart, wanted

NOON = at("2026-03-10T12:00")
HALF_HOUR = 1_800.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with something to look after."""
    workspace = tmp_path_factory.mktemp("workspace")
    wanted(workspace)
    return workspace


async def life(home: MemoryHome, folder: Path, rng: random.Random, channel: FakeChannel) -> None:
    """One process, killed around one of its commits; its beats are at every half hour."""
    assert isinstance(home.clock, ManualClock)
    left, after = rng.randrange(1, 60), rng.random() < 0.5
    async with gateway(ScriptedProvider("News."), channel, home=home) as bot:
        beats = heart(bot, folder, to="fake:1", interval_seconds=HALF_HOUR)

        def reach(_verb: str) -> None:
            nonlocal left
            left -= 1
            bot.process.dead = bot.process.dead or left == 0

        if after:
            bot.process.after = reach
        else:
            bot.process.before = reach
        for _ in range(8):
            try:
                # Twice each: as a clock that was set back would have it.
                moment = home.clock.now() // HALF_HOUR * HALF_HOUR
                for _ in range(2):
                    await beats.beat(moment)
                    await bot.cron.fire()
                    await bot.settle()
            except StoreError:
                break
            home.clock.advance(rng.choice([0.0, HALF_HOUR, 2 * HALF_HOUR]))
        bot.crash()
    home.clock.advance(rng.choice([0.0, 5.0, HALF_HOUR]))


@pytest.mark.process
@settings(max_examples=6)
@given(st.integers(0, 2**32))
async def test_random_kills_never_make_two_beats_of_one_or_tell_one_twice(
    folder: Path, seed: int
) -> None:
    rng = random.Random(seed)
    channel = FakeChannel()
    async with MemoryHome(ManualClock(NOON)) as home:
        for _ in range(rng.randrange(2, 6)):
            await life(home, folder, rng, channel)
        async with gateway(ScriptedProvider("News."), channel, home=home) as bot:
            for _ in range(4):
                await bot.cron.fire()
                await bot.settle()
        rows = home.do(lambda c: c.execute(sa.select(job_tables.occurrences)).all())
        keys = [row.call_key for row in rows]
        assert len(keys) == len(set(keys))
        assert {row.status for row in rows} <= {"done", "skipped", "failed"}
        inbound = home.do(lambda c: c.execute(sa.select(schema.inbound)).all())
        assert len(inbound) == len([row for row in rows if row.status != "skipped"])
        owed = home.do(lambda c: c.execute(sa.select(schema.outbound)).all())
        posts = [row.key for row in owed if row.key.startswith("cron:")]
        assert len(posts) == len(set(posts)) <= len(rows)


@pytest.mark.process
async def test_beats_over_the_limit_of_what_is_said_unasked_are_one_message_later(
    tmp_path: Path,
) -> None:
    wanted(tmp_path)
    provider = ScriptedProvider(otherwise=lambda _: f"News {len(provider.requests)}.")
    limits = QuietSettings(max_per_hour=1, quiet_from="18:00", quiet_until="08:00")
    options = Options(quiet=limiter(QuietHours(limits)))
    async with (
        MemoryHome(ManualClock(NOON)) as home,
        gateway(provider, home=home, options=options) as bot,
    ):
        await bot.channel.push("/cron add send=yes +7h Tea!")
        await bot.channel.pop()
        beats = heart(bot, tmp_path)
        for _ in range(28):
            await beaten(bot, beats, 900)
        texts = [message.text for message in bot.channel.sent[1:]]
        assert texts[0] == "News 1."
        assert texts[1].startswith("3 messages were held back")
        assert texts[-1] == "Tea!"
        (tmp_path / "HEARTBEAT.md").unlink()
        await beaten(bot, beats, 13 * 3_600)
        (morning,) = [message.text for message in bot.channel.sent[1 + len(texts) :]]
        assert "held back" in morning
        words = [word for text in (*texts, morning) for word in text.split() if word[:1].isdigit()]
        for number in range(1, len(provider.requests) + 1):
            assert f"{number}." in words
        owed = home.do(lambda c: c.execute(sa.select(schema.outbound)).all())
        assert {row.state for row in owed} - {"direct"} == {"sent", "digested"}
        assert any(row.key.startswith(DIGEST) for row in owed)
