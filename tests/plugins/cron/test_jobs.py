"""Jobs in a gateway: added by people and by the model, done when due, their answers in the chat."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from nanobot.bus.core import Bus
from nanobot.errors import UsageError
from nanobot.messages import Address, Origin, Role
from nanobot.plugins.common.jobs.plans import Fired
from nanobot.plugins.cron.editing import MOST_DEPTH, JobEditor, JobRequest, Requester
from nanobot.plugins.cron.tool import cron_tool
from nanobot.plugins.jobs.rules import OpenTime
from nanobot.plugins.jobs.store.jobs import SqlJobs
from nanobot.plugins.jobs.timer import LOOK_SECONDS
from nanobot.session.entries import PostEntry, ToolResultEntry, UserEntry
from nanobot.session.states import RunKind
from nanobot.testing.gateway import FakeGateway, MemoryHome, Process
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider, asks_for, last_text
from nanobot.testing.platform import MEMBER, OWNER
from tests.agent.tooling import bodies
from tests.plugins.cron.scheduling import editor_of, gateway, jobs_of, service_over

CHAT = Address("fake", "1")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()


def asker(sender: str = OWNER, role: Role = Role.OWNER, **more: Any) -> Requester:
    return Requester(role=role, sender_id=sender, address=CHAT, session_key="fake:1", **more)


async def answer(bot: FakeGateway, text: str, sender: str = OWNER) -> str:
    await bot.channel.push(text, sender=sender)
    return (await bot.channel.pop()).text


async def later(bot: FakeGateway, seconds: float) -> None:
    """Time passes, and what is due is done to its end."""
    assert isinstance(bot.home.clock, ManualClock)
    bot.home.clock.advance(seconds)
    for _ in range(3):
        await bot.cron.fire()
        await bot.settle()


def at_noon() -> MemoryHome:
    return MemoryHome(ManualClock(NOON))


async def test_a_job_is_made_in_a_chat_and_its_answer_comes_there() -> None:
    async with at_noon() as home, gateway(ScriptedProvider("All green."), home=home) as bot:
        text = await answer(bot, "/cron add 30 12 * * * Look at the builds")
        assert text == (
            "Job #1 (Look at the builds) is active: every day at 12:30 (UTC). Next times: "
            "Sun 2026-03-01 12:30, Mon 2026-03-02 12:30, Tue 2026-03-03 12:30."
        )
        await later(bot, 1_800)
        assert (await bot.channel.pop()).text == "All green."
        assert last_text(bot.provider.requests[-1]).endswith("Look at the builds")
        assert "done" in await answer(bot, "/cron history 1")
        assert [post.text for post in bodies(bot, PostEntry)] == ["All green."]
        assert bodies(bot, UserEntry, "cron:1")[0].origin is Origin.CRON


async def test_every_run_of_its_own_begins_anew_and_one_in_the_chat_does_not() -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        await answer(bot, "hello")
        await answer(bot, "/cron add name=own every hour first")
        await answer(bot, "/cron add name=chat session=chat every hour second")
        for _ in range(2):
            await later(bot, 3_600)
            await bot.channel.pop()
            await bot.channel.pop()
        seen = {
            last_text(request).split()[-1]: len(request.messages)
            for request in bot.provider.requests
        }
        assert seen["first"] == 2
        assert seen["second"] > 4


async def test_a_model_of_its_own_and_fewer_tools_hold_for_a_jobs_runs() -> None:
    async with at_noon() as home:
        opening = gateway(home=home)
        async with opening as bot:
            bot.tools.register(cron_tool(editor_of(bot)))
            await editor_of(bot).add(
                asker(), JobRequest(schedule="+20m", text="Look", model="test/other", tools="none")
            )
            await later(bot, 1_200)
            assert (await bot.channel.pop()).text == "echo: Look"
            assert bot.provider.requests[-1].tools == ()
            (message,) = bodies(bot, UserEntry, "cron:1")
            assert message.options is not None
            assert message.options.model == "test/other"


async def test_nothing_to_say_is_not_said() -> None:
    async with at_noon() as home, gateway(ScriptedProvider("NOTHING_TO_SAY"), home=home) as bot:
        await answer(bot, "/cron add +1m Anything?")
        await later(bot, 60)
        assert "done" in await answer(bot, "/cron history")


async def test_what_has_expired_is_not_done_however_long_nobody_was_there() -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        await answer(bot, "/cron add name=walk expires=+10d every day Walk")
        await later(bot, 60 * 86_400)
        (job,) = await editor_of(bot).listed(asker(), state="", limit=9)
        assert (job.state, job.next_at) == ("done", None)
        assert await editor_of(bot).history("walk", 9) == []
        assert len(bot.channel.sent) == 1


async def test_jobs_are_paused_resumed_run_changed_and_removed_in_a_chat() -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        await answer(bot, "/cron add name=tea send=yes zone=Europe/Berlin 0 9 * * * Tea!")
        assert "paused" in await answer(bot, "/cron pause tea")
        await later(bot, 86_400)
        assert "Nothing found." in await answer(bot, "/cron history tea")
        assert "(Europe/Berlin). Next times: Tue 2026-03-03 09:00" in await answer(
            bot, "/cron resume tea"
        )
        await bot.channel.push("/cron run tea")
        await bot.settle()
        await later(bot, 0)
        assert {(await bot.channel.pop()).text for _ in range(2)} == {
            "Tea!",
            "Job #1 (tea) is running now.",
        }
        assert "every day at 00:00 (" in await answer(bot, "/cron edit tea schedule=@daily")
        assert "removed" in await answer(bot, "/cron remove 1")
        assert (await answer(bot, "/cron")).startswith("Nothing found. `cron add")
        assert "no job 'tea'" in await answer(bot, "/cron pause tea")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/cron add", "Write the schedule and then"),
        ("/cron add +20m", "write the schedule and then"),
        ("/cron add tomorrow I would like some tea", "not a schedule"),
        ("/cron add 0 0 30 2 * Leap", "nearest valid"),
        ("/cron add zone=Europe/Berln +1m Tea", "did you mean Europe/Berlin"),
        ("/cron add to=nowhere +1m Tea", "CHANNEL:CHAT"),
        ("/cron add name=7 +1m Tea", "not a number"),
        ("/cron add jitter=1e99 +1m Tea", "jitter"),
        ("/cron add misfire=never +1m Tea", "misfire"),
        ("/cron add expires=+1m +1h Tea", "never be due"),
        ("/cron edit 9 text", "no job '9'"),
        ("/cron resume 99999999999999999999", "no job"),
        ("/cron preview 61 * * * *", "59 * * * *"),
        ("/cron preview from=never @daily", "not a time"),
        ("/cron preview count=0 @daily", "count"),
        ("/cron preview +0s", "goes forward"),
    ],
)
async def test_what_cannot_be_is_said_with_what_could(text: str, reason: str) -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        assert reason in await answer(bot, text)
        assert (await answer(bot, "/cron list")).startswith("Nothing found. `cron add")


async def test_a_preview_shows_both_changes_of_clocks() -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        text = await answer(
            bot, "/cron preview zone=Europe/Berlin from=2026-03-28T12:00 count=2 30 2 * * *"
        )
        assert "Sun 2026-03-29 03:00:00 CEST" in text
        assert "Mon 2026-03-30 02:30:00 CEST" in text


async def test_a_preview_begins_with_the_very_time_it_is_asked_from() -> None:
    async with at_noon() as home, gateway(ScriptedProvider(), home=home) as bot:
        fixed = await answer(bot, "/cron preview from=2026-04-01T09:30 count=1 30 9 * * *")
        assert "Wed 2026-04-01 09:30:00 UTC" in fixed
        once = await answer(bot, "/cron preview from=2026-04-01T09:30 2026-04-01T09:30")
        assert "Wed 2026-04-01 09:30:00 UTC" in once
        # An interval begins with its first wait.
        regular = await answer(bot, "/cron preview from=2026-04-01T09:30 count=1 every 2 hours")
        assert "Wed 2026-04-01 11:30:00 UTC" in regular
        assert "09:30" not in regular


async def test_the_model_makes_jobs_looks_at_them_and_removes_them() -> None:
    provider = ScriptedProvider(
        asks_for("cron", action="add", schedule="+20m", message="Remind me of the tea"),
        asks_for("cron", action="list"),
        asks_for("cron", action="pause", job_id="1"),
        asks_for("cron", action="resume", job_id="1"),
        asks_for("cron", action="remove", job_id="1"),
        asks_for("cron", action="remove"),
        asks_for("cron", action="add", schedule="61 * * * *", message="x"),
        "Done.",
    )
    async with at_noon() as home, gateway(provider, home=home) as bot:
        bot.tools.register(cron_tool(editor_of(bot)))
        assert await answer(bot, "tea?") == "Done."
        added, listed, paused, resumed, removed, unnamed, wrong = (
            entry.text for entry in bodies(bot, ToolResultEntry)
        )
        assert added.startswith("Added: #1 Remind me of the tea [active] 2026-03-01T12:20:00Z")
        assert listed.startswith("#1 Remind me of the tea [active]")
        assert paused.startswith("It is paused now")
        assert resumed.startswith("It is active now")
        assert removed.startswith("Removed: #1")
        assert "job_id" in unnamed
        assert "59 * * * *" in wrong


async def test_a_call_that_is_made_again_after_a_crash_adds_no_second_job() -> None:
    async with at_noon() as home:
        book = JobEditor(jobs_of(Process(home)), home.clock, "UTC", lambda _: None)
        wish = JobRequest(schedule="+20m", text="Tea")
        first = await book.add(asker(key="run-1:1:0"), wish)
        assert await book.add(asker(key="run-1:1:0"), wish) == first
        assert (await book.add(asker(key="run-1:1:1"), wish)).plan.name == "Tea 2"


async def test_a_jobs_run_makes_nothing_that_repeats_and_no_endless_chain() -> None:
    again = [asks_for("cron", action="add", schedule="+1h", message="again") for _ in range(9)]
    script = [step for ask in again for step in (ask, "Done.")]
    provider = ScriptedProvider(asks_for("cron", action="add", schedule="@daily", message="x"))
    async with at_noon() as home:
        async with gateway(provider, home=home) as bot:
            bot.tools.register(cron_tool(editor_of(bot)))
            await editor_of(bot).add(asker(), JobRequest(schedule="+1h", text="begin"))
            await later(bot, 3_600)
            assert "cannot create a repeating job" in bodies(bot, ToolResultEntry, "cron:1")[0].text
        async with gateway(ScriptedProvider(*script), home=home) as bot:
            bot.tools.register(cron_tool(editor_of(bot)))
            await editor_of(bot).add(asker(), JobRequest(schedule="+1h", text="begin again"))
            for _ in range(9):
                await later(bot, 3_600)
            jobs = await editor_of(bot).listed(asker(), state="", limit=50)
            assert max(job.plan.depth for job in jobs) == MOST_DEPTH
            assert all(job.state == "done" for job in jobs)
        for change in ("resume", "trigger"):
            with pytest.raises(UsageError, match="only people may"):
                await getattr(editor_of(bot), change)(asker(origin=Origin.CRON), "1")


async def test_members_look_after_their_own_jobs_only() -> None:
    async with at_noon() as home:
        book = JobEditor(jobs_of(Process(home)), home.clock, "UTC", lambda _: None)
        mine = await book.add(asker(MEMBER, Role.MEMBER), JobRequest(schedule="+1h", text="mine"))
        theirs = await book.add(asker(), JobRequest(schedule="+1h", text="theirs"))
        member = asker(MEMBER, Role.MEMBER)
        assert await book.listed(member, state="", limit=9) == [mine]
        assert len(await book.listed(asker(), state="", limit=9)) == 2
        with pytest.raises(UsageError, match="of yours"):
            await book.remove(member, str(theirs.id))
        assert (await book.remove(member, str(mine.id))).state == "removed"


async def test_a_jobs_run_has_the_role_and_the_taint_of_whoever_asked_for_it() -> None:
    async with at_noon() as home, gateway(home=home) as bot:
        member = asker(MEMBER, Role.MEMBER, tainted=True)
        await editor_of(bot).add(member, JobRequest(schedule="+1h", text="Look"))
        await later(bot, 3_600)
        (message,) = bodies(bot, UserEntry, "cron:1")
        assert (message.role, message.sender_id, message.tainted) == (Role.MEMBER, MEMBER, True)


async def test_one_timer_fires_on_time_and_at_once_after_a_change() -> None:
    clock = ManualClock(NOON, instant=False)
    async with MemoryHome(clock) as home, gateway(home=home) as bot, asyncio.TaskGroup() as tasks:
        timer = tasks.create_task(bot.cron.run())
        await clock.asleep()
        assert clock.sleeps[-1] == LOOK_SECONDS
        await editor_of(bot).add(asker(), JobRequest(schedule="+20s", text="Tea", send=True))
        await bot.settle()
        assert clock.sleeps[-1] == 20
        clock.advance(20)
        assert (await bot.channel.pop()).text == "Tea"
        assert clock.sleeps[-1] == LOOK_SECONDS
        timer.cancel()


async def test_a_clock_that_jumps_is_noticed_within_half_a_minute() -> None:
    clock = ManualClock(NOON, instant=False)
    async with MemoryHome(clock) as home, gateway(home=home) as bot, asyncio.TaskGroup() as tasks:
        timer = tasks.create_task(bot.cron.run())
        await clock.asleep()
        await editor_of(bot).add(asker(), JobRequest(schedule="every hour", text="Look", send=True))
        await bot.settle()
        for jump in (5.5 * 3_600, -9.0 * 3_600):
            clock.set_by(jump)
            clock.advance(LOOK_SECONDS)
            await bot.settle()
        assert "[Late" in (await bot.channel.pop()).text
        (job,) = await editor_of(bot).listed(asker(), state="", limit=9)
        assert job.next_at is not None
        assert 0 < job.next_at - clock.now() <= 3_600
        timer.cancel()


async def test_the_end_of_a_run_is_noted_at_once() -> None:
    clock = ManualClock(NOON, instant=False)
    async with MemoryHome(clock) as home, gateway(home=home) as bot, asyncio.TaskGroup() as tasks:
        timer = tasks.create_task(bot.cron.run())
        await clock.asleep()
        job = await editor_of(bot).add(asker(), JobRequest(schedule="+10s", text="Look"))
        await bot.settle()
        clock.advance(10)
        assert (await bot.channel.pop()).text == "echo: Look"
        assert (await editor_of(bot).history(str(job.id), 9))[0].status == "done"
        timer.cancel()


async def test_an_end_elsewhere_that_nobody_told_of_is_noted_within_seconds() -> None:
    clock = ManualClock(NOON, instant=False)
    async with MemoryHome(clock) as home, gateway(home=home) as bot, asyncio.TaskGroup() as tasks:
        scheduler = service_over(jobs_of(bot.process), Bus(bot.process.journal), clock)
        timer = tasks.create_task(scheduler.run())
        await clock.asleep()
        job = await editor_of(bot).add(asker(), JobRequest(schedule="+10s", text="Look"))
        scheduler.look_at_all()
        await bot.settle()
        clock.advance(10)
        await bot.settle()
        bot.bus.wake(f"cron:{job.id}", RunKind.TASK)  # it runs there
        await bot.settle()
        assert (await editor_of(bot).history(str(job.id), 9))[0].status == "running"
        clock.advance(3)
        await bot.settle()
        assert (await editor_of(bot).history(str(job.id), 9))[0].status == "done"
        timer.cancel()


async def test_what_another_process_began_and_ended_is_noted_within_seconds() -> None:
    clock = ManualClock(NOON, instant=False)
    async with MemoryHome(clock) as home, gateway(home=home) as bot, asyncio.TaskGroup() as tasks:
        scheduler = service_over(jobs_of(bot.process), Bus(bot.process.journal), clock)
        timer = tasks.create_task(scheduler.run())
        await clock.asleep()
        job = await editor_of(bot).add(asker(), JobRequest(schedule="every hour", text="Look"))
        bot.cron.on_announced = scheduler.look_at_all
        await editor_of(bot).trigger(asker(), str(job.id))
        await bot.settle()
        assert (await editor_of(bot).history(str(job.id), 9))[0].status == "running"
        clock.advance(3)
        await bot.settle()
        assert (await editor_of(bot).history(str(job.id), 9))[0].status == "done"
        timer.cancel()


class Between(SqlJobs):
    """Jobs of which `then` is called once when a look at all of them has been taken."""

    then: Callable[[], Awaitable[None]] | None = None

    async def sweep(self, after: OpenTime | None) -> tuple[Fired, OpenTime | None]:
        seen = await super().sweep(after)
        then, self.then = self.then, None
        if then is not None:
            await then()
        return seen


async def test_what_begins_while_all_is_looked_at_is_waited_for() -> None:
    clock = ManualClock(NOON, instant=False)
    async with MemoryHome(clock) as home, gateway(home=home) as bot, asyncio.TaskGroup() as tasks:
        job = await editor_of(bot).add(asker(), JobRequest(schedule="every hour", text="Look"))
        kept = jobs_of(bot.process)
        jobs = Between(kept.database, kept.writer)
        scheduler = service_over(jobs, bot.bus, clock)

        async def triggered() -> None:
            _, fired = await jobs.trigger(job.id, at=None, key="", text="")
            scheduler.announce(fired)

        jobs.then = triggered
        timer = tasks.create_task(scheduler.run())
        assert (await bot.channel.pop()).text == "echo: Look"
        assert (await editor_of(bot).history(str(job.id), 9))[0].status == "done"
        timer.cancel()
