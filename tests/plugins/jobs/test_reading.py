"""The session in which a job worked counts as read once its answer has arrived."""

from __future__ import annotations

from nanobot.messages import Origin
from nanobot.plugins.jobs.plans import plan_of
from nanobot.plugins.jobs.service import store_hooks
from nanobot.plugins.quiet.hours import QuietHours
from nanobot.plugins.quiet.settings import QuietSettings
from nanobot.plugins.quiet.store import limiter
from nanobot.store.unit import StoreContext, StoreHooks
from nanobot.testing.gateway import Options, gateway
from tests.stored import lists_of


def reads(_: StoreContext) -> StoreHooks:
    """What the plugin takes part with."""
    return StoreHooks(arrives=(store_hooks(),))


async def test_the_session_of_a_job_is_read_once_its_answer_was_delivered() -> None:
    async with gateway(options=Options(hooks=reads)) as bot:
        publisher = bot.cron.publisher(plan_of("backup", "fake:1", Origin.CRON, "UTC"))
        await publisher.publish("back up")
        await bot.settle()
        unread = await lists_of(bot.records).newest(limit=9, unread=True)
        assert [session.key for session in unread] == ["backup"]
        await bot.cron.fire()
        assert (await bot.channel.pop()).text.startswith("echo: ")
        await bot.settle()
        assert await lists_of(bot.records).newest(limit=9, unread=True) == []
        bot.home.clock.advance(60.0)  # type: ignore[attr-defined]
        await publisher.publish("again")
        await bot.settle()
        unread = await lists_of(bot.records).newest(limit=9, unread=True)
        assert [session.key for session in unread] == ["backup"]


async def test_sessions_of_jobs_are_read_once_a_digest_told_their_answers() -> None:
    hours = QuietHours(QuietSettings(max_per_hour=1, quiet_from="", quiet_until=""))
    options = Options(hooks=reads, quiet=limiter(hours))
    async with gateway(options=options) as bot:
        for name in ("first", "second", "third"):
            publisher = bot.cron.publisher(plan_of(name, "fake:1", Origin.CRON, "UTC"))
            await publisher.publish(name)
            await bot.settle()
            await bot.cron.fire()
            await bot.settle()
        assert len(bot.channel.sent) == 1
        unread = await lists_of(bot.records).newest(limit=9, unread=True)
        assert {session.key for session in unread} == {"second", "third"}
        bot.home.clock.advance(3_700.0)  # type: ignore[attr-defined]
        await bot.cron.fire()
        await bot.settle()
        assert "2 messages were held back" in bot.channel.sent[-1].text
        assert await lists_of(bot.records).newest(limit=9, unread=True) == []
