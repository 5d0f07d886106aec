"""Background runs over the whole gateway: started with a result, reported with their end."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nanobot.errors import ToolArgumentsError, ToolError
from nanobot.messages import Origin, Role
from nanobot.plugins.common.runs.background_runs import TaskRequest
from nanobot.plugins.common.runs.run_types import TaskContext
from nanobot.plugins.quiet.hours import QuietHours
from nanobot.plugins.quiet.settings import QuietSettings
from nanobot.plugins.quiet.store import limiter
from nanobot.plugins.tasks.deadlines import DeadlineMonitor
from nanobot.plugins.tasks.port import MAX_OF_SESSION
from nanobot.session.entries import PostEntry, UserEntry
from nanobot.session.run_types import TaskResult
from nanobot.session.states import RunState
from nanobot.testing import gateway
from nanobot.testing.gateway import MemoryHome
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from tests.agent.tooling import answered, bodies
from tests.plugins.memory.kept import remembering
from tests.plugins.tasks.working import (
    SPAWNING,
    Words,
    delegating,
    parent,
    say,
    tasks_of,
    the_run,
    wanted,
    with_types,
)
from tests.stored import lists_of, marks_of, outbox_of


async def test_a_subagent_is_started_works_on_its_own_and_its_report_is_answered() -> None:
    model = ScriptedProvider(otherwise=delegating())
    async with gateway(model, options=SPAWNING) as bot:
        await bot.channel.push("how far is the moon?")
        assert (await bot.channel.pop()).text == "I am on it."
        assert (await bot.channel.pop()).text == "It says: the moon is 384,400 km away"
        await bot.settle()
        (run,) = await tasks_of(bot)
        assert (run.state, run.type, run.title) == (RunState.COMPLETED, "agent", "The moon")
        assert run.session_key == f"task:{run.id}"
        assert run.parent_session == "fake:1"
        reports = [entry for entry in bodies(bot, UserEntry) if entry.origin is Origin.RUN]
        assert len(reports) == 1
        assert f"[background run {run.id}] Task completed: The moon" in reports[0].text
        assert len(bot.channel.sent) == 2
        bot.home.verify("fake:1")
        bot.home.verify(run.session_key)


@pytest.mark.parametrize("group", [False, True])
async def test_a_subagent_knows_what_the_conversation_knows_that_it_began_in(
    group: bool, tmp_path: Path
) -> None:
    (tmp_path / "MEMORY.md").write_text("- Ada has a telescope.")
    model = ScriptedProvider(otherwise=delegating())
    options = msgspec.structs.replace(SPAWNING, workspace=tmp_path, brings=remembering(tmp_path))
    async with gateway(model, options=options) as bot:
        await bot.channel.push("how far is the moon?", group=group, addressed=True)
        await bot.channel.pop()
        await answered(bot)
        (run,) = await tasks_of(bot)
        prompts = {str(request.messages[0].content) for request in model.requests}
        assert {"telescope" in prompt for prompt in prompts} == {not group}
        again = await bot.tasks.again(run.id)
        assert again is not None
        assert again.parent is not None
        assert again.parent.private is not group


async def test_the_result_of_spawn_names_the_run() -> None:
    model = ScriptedProvider(otherwise=delegating(Held()))
    async with gateway(model, options=SPAWNING) as bot:
        await bot.channel.push("how far is the moon?")
        await bot.channel.pop()
        (run,) = await tasks_of(bot)
        assert f"Started #{run.id}" in str(model.requests)
        assert run.parent is not None
        await bot.settle()
        assert (await the_run(bot, run.id)).state is RunState.MODEL_RUNNING


async def test_the_end_of_a_run_is_posted_where_it_was_started() -> None:
    async with gateway(options=with_types(say())) as bot:
        run_id = await bot.starter.start(wanted("hi", by=parent()))
        assert (await bot.channel.pop()).text == "Task completed: Say hi\n\nsaid hi"
        assert [post.text for post in bodies(bot, PostEntry)] == [
            "Task completed: Say hi\n\nsaid hi"
        ]
        assert (await the_run(bot, run_id)).state is RunState.COMPLETED


@pytest.mark.parametrize(("origin", "sent"), [(Origin.USER, 3), (Origin.CRON, 1)])
async def test_a_report_that_a_person_was_promised_is_never_held_back(
    origin: Origin, sent: int, held: Held
) -> None:
    limits = QuietHours(QuietSettings(max_per_hour=1))
    options = msgspec.structs.replace(with_types(say()), quiet=limiter(limits))
    async with gateway(ScriptedProvider(held), options=options) as bot:
        await bot.channel.push("go", origin=origin)
        await held.reached.wait()
        (run,) = bot.worker.running
        by = msgspec.structs.replace(parent(), run_id=run.id)
        for text in "abc":
            await bot.starter.start(msgspec.structs.replace(wanted(text, by=by), key=text))
            await bot.settle()
        assert len(bot.channel.sent) == sent
        assert len(await outbox_of(bot.records).listed(state="held", limit=9)) == 3 - sent
        held.answer("done")


async def test_the_same_asked_for_again_is_started_once() -> None:
    async with gateway(options=with_types(say())) as bot:
        first = await bot.starter.start(wanted("hi", by=parent()))
        assert await bot.starter.start(wanted("hi", by=parent())) == first
        await answered(bot)
        assert len(bot.channel.sent) == 1


async def test_a_failure_is_tried_again_with_growing_pauses_then_told() -> None:
    tried: list[str] = []

    async def fail(given: Words, bench: TaskContext) -> TaskResult:
        tried.append(given.text)
        raise ToolError("the server is down")

    async with gateway(options=with_types(say(fail))) as bot:
        await bot.starter.start(wanted("hi", by=parent()))
        message = await bot.channel.pop()
        assert message.text == "Task failed: Say hi\n\nthe server is down"
        assert tried == ["hi"] * 3
        assert bot.home.clock.sleeps == [2.0, 8.0]  # type: ignore[attr-defined]


async def test_a_failure_inside_a_type_is_told_without_its_inside() -> None:
    async def fail(given: Words, bench: TaskContext) -> TaskResult:
        raise RuntimeError("secret detail")

    async with gateway(options=with_types(say(fail))) as bot:
        await bot.starter.start(wanted("hi", by=parent()))
        assert (await bot.channel.pop()).text == (
            "Task failed: Say hi\n\nsay failed inside (RuntimeError)"
        )


async def test_what_a_run_makes_may_be_a_question_to_the_model() -> None:
    async def ask(given: Words, bench: TaskContext) -> TaskResult:
        return TaskResult(text="what is it in short?", ask=True, tainted=True)

    async with gateway(ScriptedProvider("short"), options=with_types(say(ask))) as bot:
        await bot.starter.start(wanted("hi", by=parent()))
        assert (await bot.channel.pop()).text == "Task completed: Say hi\n\nshort"
        assert bodies(bot, PostEntry)[0].tainted


async def test_a_run_without_a_conversation_becomes_one_that_is_unread() -> None:
    async with gateway(options=with_types(say())) as bot:
        run_id = await bot.starter.start(wanted("hi"))
        await bot.settle()
        (session,) = await lists_of(bot.records).newest(limit=9, unread=True)
        assert session.key == f"task:{run_id}"
        assert session.title == "Task completed: Say hi"
        assert bodies(bot, PostEntry, session.key)[0].text.endswith("said hi")
        assert await marks_of(bot.records).mark_read(session.key)
        assert await lists_of(bot.records).newest(limit=9, unread=True) == []


async def test_the_session_of_a_run_that_reports_elsewhere_is_never_unread() -> None:
    async with gateway(options=with_types(say())) as bot:
        await bot.starter.start(wanted("hi", by=parent()))
        await answered(bot)
        assert await lists_of(bot.records).newest(limit=9, unread=True) == []
        assert len(await lists_of(bot.records).newest(limit=9, unread=False)) == 2


async def test_what_a_platform_delivered_counts_as_read(held: Held) -> None:
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("hello")
        await held.reached.wait()
        assert [
            session.key for session in await lists_of(bot.records).newest(limit=9, unread=True)
        ] == ["fake:1"]
        held.answer("hi")
        await answered(bot)
        assert await lists_of(bot.records).newest(limit=9, unread=True) == []


async def test_taint_and_role_go_to_the_child_and_taint_comes_back() -> None:
    model = ScriptedProvider(otherwise=delegating())
    async with gateway(model, options=SPAWNING) as bot:
        request = TaskRequest(
            type="agent",
            title="Look",
            input={"task": "look"},
            key="k",
            parent=parent(role=Role.MEMBER, tainted=True),
        )
        run_id = await bot.starter.start(request)
        await bot.channel.pop()
        (first,) = bodies(bot, UserEntry, f"task:{run_id}")
        assert (first.role, first.tainted) == (Role.MEMBER, True)
        (entry,) = bodies(bot, UserEntry)
        assert (entry.role, entry.tainted) == (Role.MEMBER, True)


async def test_the_report_steers_a_run_of_the_same_person() -> None:
    busy = Held()
    model = ScriptedProvider(busy, otherwise=delegating())
    async with gateway(model, options=SPAWNING) as bot:
        await bot.channel.push("hello")
        await busy.reached.wait()
        request = TaskRequest(
            type="agent", title="Look", input={"task": "look"}, key="k", parent=parent()
        )
        await bot.starter.start(request)
        await bot.settle()
        busy.answer(asks_for("spawn", task="more", label="More"))
        await bot.settle()
        steered = [entry for entry in bodies(bot, UserEntry) if entry.steered]
        assert [entry.origin for entry in steered] == [Origin.RUN]
        # Nobody wrote meanwhile, so nobody is told that what they wrote is taken in.
        assert "also answers your latest" not in (await bot.channel.pop()).text


async def test_one_conversation_may_not_start_too_many() -> None:
    async with gateway(options=with_types(say(delay=1_000.0))) as bot:
        for number in range(MAX_OF_SESSION):
            await bot.starter.start(wanted("hi", key=f"k{number}", by=parent()))
        with pytest.raises(ToolError, match="at most 8"):
            await bot.starter.start(wanted("hi", key="more", by=parent()))
        await bot.starter.start(wanted("hi", key="other", by=parent(session="fake:2")))


async def test_children_have_children_but_those_have_none() -> None:
    async with gateway(options=with_types(say(delay=1_000.0))) as bot:
        by = parent()
        for generation in range(2):
            run_id = await bot.starter.start(wanted("hi", key=f"k{generation}", by=by))
            by = type(by)(
                session_key=f"task:{run_id}",
                run_id=run_id,
                address=by.address,
                sender_id=by.sender_id,
                role=by.role,
            )
        with pytest.raises(ToolError, match="do it yourself"):
            await bot.starter.start(wanted("hi", key="third", by=by))


async def test_input_that_does_not_fit_is_refused_before_anything_is_kept() -> None:
    async with gateway(options=with_types(say())) as bot:
        for kind, given in (("say", {"words": 1}), ("sing", {}), ("agent", {})):
            with pytest.raises(ToolArgumentsError):
                await bot.starter.start(TaskRequest(type=kind, title="t", input=given, key="k"))
        with pytest.raises(ToolArgumentsError, match="title"):
            await bot.starter.start(TaskRequest(type="say", title=" ", input={}, key="k"))
        assert await tasks_of(bot) == []


async def test_a_run_that_is_to_begin_later_is_queued_until_then() -> None:
    home = MemoryHome()
    async with gateway(home=home, options=with_types(say(delay=100.0))) as bot:
        run_id = await bot.starter.start(wanted("hi", by=parent()))
        await bot.settle()
        assert (await the_run(bot, run_id)).state is RunState.QUEUED
        bot.crash()
    home.clock.advance(101.0)  # type: ignore[attr-defined]
    async with gateway(home=home, options=with_types(say(delay=100.0))) as bot:
        assert (await bot.channel.pop()).text.startswith("Task completed")
    await home.close()


async def test_a_run_past_its_deadline_is_ended_and_told_about(held: Held) -> None:
    async with gateway(ScriptedProvider(held), options=SPAWNING) as bot:
        run_id = await bot.starter.start(
            TaskRequest(type="agent", title="Look", input={"task": "x"}, key="k", parent=parent())
        )
        await held.reached.wait()
        keeper = DeadlineMonitor(bot.tasks, bot.records, bot.bus, bot.home.clock)
        assert await keeper.look() == bot.engine.now() + 3_600.0
        bot.home.clock.advance(3_601.0)  # type: ignore[attr-defined]
        assert await keeper.look() is None
        await bot.settle()
        assert (await the_run(bot, run_id)).error == "deadline"
        assert "Task failed: Look" in (await bot.channel.pop()).text
        assert not bot.engine.running()
