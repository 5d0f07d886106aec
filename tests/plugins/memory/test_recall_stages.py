"""Recall: what memory adds before a run acts, and what it answers while the model asks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.agent.context import context
from nanobot.channels.repeats import REPEAT_LINE
from nanobot.errors import NanobotError
from nanobot.messages import Address, Origin, Role
from nanobot.providers.base import Completion, ModelProfile, ModelRequest, ToolCall
from nanobot.session.entries import (
    Entry,
    ModelCallEntry,
    RecallEntry,
    ReplyEntry,
    ToolResultEntry,
    UserEntry,
)
from nanobot.session.runs import PromptSnapshot
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from tests.agent.tooling import Recorder, bodies
from tests.plugins.memory.doubles import FakeMemory, asking, recalling
from tests.sampling import examples

OWN = "owner"


def seen(request: ModelRequest) -> list[str]:
    return [str(message.content) for message in request.messages[1:]]


async def say(bot: FakeGateway, text: str, **fields: Any) -> str:
    await bot.channel.push(text, **fields)
    answer = (await bot.channel.pop()).text
    await bot.settle()
    return answer


# auto


async def test_what_fits_the_message_stands_beside_it_and_stays_there() -> None:
    memory, provider = FakeMemory(), ScriptedProvider()
    memory.know(OWN, "Ada likes tea.", "The car is red.")
    async with gateway(provider, options=Options(stages=recalling(memory))) as bot:
        await say(bot, "what does ada drink?")
        first = seen(provider.requests[0])
        assert "Ada likes tea." in first[1]
        assert first[1].startswith("[from memory, by the gateway")
        assert "car" not in first[1]
        (entry,) = bodies(bot, RecallEntry)
        assert entry.memories == (0,)
        await say(bot, "thanks")
        assert seen(provider.requests[1])[: len(first)] == first


async def test_what_stands_in_view_is_not_added_again_until_it_has_left() -> None:
    memory, provider = FakeMemory(), ScriptedProvider()
    memory.know(OWN, "Ada likes tea.")
    async with gateway(provider, options=Options(stages=recalling(memory))) as bot:
        await say(bot, "does ada like tea?")
        memory.know(OWN, "Bob likes tea.")
        await say(bot, "who else likes tea?")
        assert [entry.memories for entry in bodies(bot, RecallEntry)] == [(0,), (1,)]
        await say(bot, "/new")
        await say(bot, "who likes tea?")
        assert sorted(bodies(bot, RecallEntry)[-1].memories) == [0, 1]


async def test_nothing_that_fits_adds_nothing() -> None:
    memory, provider = FakeMemory(), ScriptedProvider()
    async with gateway(provider, options=Options(stages=recalling(memory))) as bot:
        await say(bot, "hello")
        assert len(seen(provider.requests[0])) == 1
        assert bodies(bot, RecallEntry) == []


async def test_a_group_is_never_told_what_the_owner_said_alone() -> None:
    memory, provider = FakeMemory(), ScriptedProvider()
    memory.know(OWN, "The code is 1234.")
    async with gateway(provider, options=Options(stages=recalling(memory))) as bot:
        await say(bot, "what is the code", group=True, addressed=True)
        assert [scope for scope, _ in memory.asked] == ["chats/fake/1"]
        assert "1234" not in str(provider.requests)


async def test_a_memory_that_fails_costs_nothing_but_itself(memory: FakeMemory) -> None:
    memory.fails = NanobotError("the index is broken")
    async with gateway(options=Options(stages=recalling(memory))) as bot:
        assert await say(bot, "hello") == "echo: hello"


async def test_what_came_from_outside_taints_the_run_that_recalls_it() -> None:
    memory, recorder = FakeMemory(), Recorder()
    memory.know(OWN, "Ada likes tea.", tainted=True)
    provider = ScriptedProvider(asks_for("look"), "done")
    tools = [recorder.tool("look")]
    async with gateway(provider, tools=tools, options=Options(stages=recalling(memory))) as bot:
        await say(bot, "ada")
        assert recorder.contexts[0].tainted


async def test_heartbeats_begin_with_an_empty_mind(memory: FakeMemory) -> None:
    memory.know(OWN, "Ada likes tea.")
    async with gateway(options=Options(stages=recalling(memory))) as bot:
        await say(bot, "ada", origin=Origin.HEARTBEAT)
        assert memory.asked == []


async def test_a_small_model_is_told_less(memory: FakeMemory) -> None:
    memory.know(OWN, *(f"ada {number} {'x' * 300}" for number in range(5)))
    sizes = []
    for small in (True, False):
        profile = ModelProfile(name="scripted", provider="test", short_prompt=small)
        provider = ScriptedProvider(model=profile)
        async with gateway(provider, options=Options(stages=recalling(memory))) as bot:
            await say(bot, "ada")
            (entry,) = bodies(bot, RecallEntry)
            sizes.append(len(entry.memories))
    assert sizes == [2, 5]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("verb", ["record_result", "start_model", "finish"])
async def test_a_crash_around_it_recalls_once_and_shows_the_same(verb: str, moment: str) -> None:
    memory, provider = FakeMemory(), ScriptedProvider()
    memory.know(OWN, "Ada likes tea.")
    chosen = Options(stages=recalling(memory))
    async with MemoryHome() as home:
        async with gateway(provider, home=home, options=chosen) as bot:

            def crash(done: str) -> None:
                if done == verb:
                    bot.crash()

            setattr(bot.process, moment, crash)
            await bot.channel.push("ada")
            await bot.settle()
        async with gateway(provider, home=home, options=chosen) as bot:
            answer = (await bot.channel.pop()).text
            in_doubt = (verb, moment) == ("finish", "after")  # its send had begun
            assert answer == "echo: - Ada likes tea.]" + f"\n\n{REPEAT_LINE}" * in_doubt
            assert len(bodies(bot, RecallEntry)) == 1
            assert len({tuple(seen(request)) for request in provider.requests}) == 1


def _user(text: str) -> UserEntry:
    return UserEntry(
        text=text,
        address=Address("fake", "1"),
        sender_id="1001",
        role=Role.OWNER,
        sent_at=0.0,
        inbound_id=1,
    )


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
TURNS = st.lists(st.tuples(TEXTS, st.none() | TEXTS, TEXTS), min_size=1, max_size=8)


@given(TURNS)
@settings(max_examples=examples(60))
def test_with_recalled_entries_each_call_begins_with_the_one_before(
    turns: list[tuple[str, str | None, str]],
) -> None:
    entries: list[Entry] = []
    snapshot = PromptSnapshot(system="s", tools=())
    profile = ModelProfile(name="m", provider="p")
    before: tuple[object, ...] = ()
    for number, (question, recalled, answer) in enumerate(turns):
        both = [_user(question), RecallEntry(text=recalled) if recalled else None]
        call = ModelCallEntry(
            call=1,
            prompt="d",
            window_from=1,
            profile=profile,
            estimate=1,
            temperature=0.0,
            max_tokens=10,
        )
        for body in (*both, call):
            if body is not None:
                entries.append(Entry(len(entries) + 1, f"run-{number}", 0.0, body))
        shown = context(entries, snapshot, call)
        assert shown[: len(before)] == before
        assert (recalled is not None) == any(
            str(m.content).startswith("[from memory") for m in shown[len(before) :]
        )
        # A run that resumes sees the same: its entries are all there is to it.
        assert context(list(entries), snapshot, call) == shown
        before = shown
        entries.append(
            Entry(len(entries) + 1, f"run-{number}", 0.0, ReplyEntry(call=1, text=answer))
        )


# ask


def needs(query: str) -> Completion:
    return asks_for("need_information", query=query)


def results(bot: FakeGateway) -> list[str]:
    return [body.text for body in bodies(bot, ToolResultEntry)]


async def test_a_need_is_answered_from_memory_and_anything_else_is_the_answer() -> None:
    memory = FakeMemory()
    memory.know(OWN, "Ada likes tea.")
    provider = ScriptedProvider(needs("ada"), "Tea.")
    async with gateway(provider, options=Options(stages=asking(memory))) as bot:
        assert await say(bot, "what does she drink?") == "Tea."
        (result,) = results(bot)
        assert "Ada likes tea." in result
        assert [tool.name for tool in provider.requests[0].tools] == ["need_information"]


async def test_that_there_is_nothing_is_an_answer_too() -> None:
    provider = ScriptedProvider(needs("bob"), "I do not know.")
    async with gateway(provider, options=Options(stages=asking(FakeMemory()))) as bot:
        assert await say(bot, "who is bob?") == "I do not know."
        assert results(bot)[0].startswith("Nothing is known")


async def test_after_so_many_rounds_asking_is_over(memory: FakeMemory) -> None:
    memory.know(OWN, "ada")
    script = [needs(f"ada {number}") for number in range(4)]
    provider = ScriptedProvider(*script, "Enough.")
    async with gateway(provider, options=Options(stages=asking(memory, rounds=3))) as bot:
        assert await say(bot, "ada?") == "Enough."
        assert len(memory.asked) == 3
        assert results(bot)[3].startswith("Asking is over")


async def test_any_other_action_ends_asking_at_once() -> None:
    memory, recorder = FakeMemory(), Recorder()
    script = (asks_for("look"), needs("ada"), "Done.")
    options = Options(stages=asking(memory))
    tools = [recorder.tool("look")]
    async with gateway(ScriptedProvider(*script), tools=tools, options=options) as bot:
        assert await say(bot, "ada?") == "Done."
        assert recorder.calls == ["look"]
        assert memory.asked == []
        assert results(bot)[1].startswith("Asking is over")


async def test_an_action_beside_a_need_is_made_and_ends_asking() -> None:
    memory, recorder = FakeMemory(), Recorder()
    both = (ToolCall("a", "need_information", '{"query": "x"}'), ToolCall("b", "look", "{}"))
    provider = ScriptedProvider(
        Completion(text="", tool_calls=both, finish_reason="tool_calls"), "ok"
    )
    tools = [recorder.tool("look")]
    async with gateway(provider, tools=tools, options=Options(stages=asking(memory))) as bot:
        await say(bot, "ada?")
        assert recorder.calls == ["look"]
        assert memory.asked == []


async def test_rounds_are_counted_over_a_crash(memory: FakeMemory, held: Held) -> None:
    provider = ScriptedProvider(needs("a"), needs("b"), held, needs("c"), needs("d"), "Enough.")
    chosen = Options(stages=asking(memory, rounds=3))
    async with MemoryHome() as home:
        async with gateway(provider, home=home, options=chosen) as bot:
            await bot.channel.push("ada?")
            await held.reached.wait()
            bot.crash()
        async with gateway(provider, home=home, options=chosen) as bot:
            assert (await bot.channel.pop()).text == "Enough."
            assert [query for _, query in memory.asked] == ["a", "b", "c"]


async def test_a_model_too_small_for_it_is_not_offered_the_tool() -> None:
    profile = ModelProfile(name="scripted", provider="test", helper_calls=False)
    provider = ScriptedProvider(model=profile)
    async with gateway(provider, options=Options(stages=asking(FakeMemory()))) as bot:
        await say(bot, "ada?")
        assert provider.requests[0].tools == ()
