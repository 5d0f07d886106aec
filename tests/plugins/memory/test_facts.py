"""What lasts of a conversation goes to memory with the summary, in one transaction."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from nanobot.agent.settings import RunSettings
from nanobot.plugins.memory.port import MemoryView
from nanobot.providers.base import ModelProfile, ModelRequest
from nanobot.session.entries import SummaryEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import MEMBER
from nanobot.tools.base import Effect
from tests.agent.tooling import Recorder, bodies
from tests.plugins.memory.kept import memory_of, remembering
from tests.plugins.summaries.test_compaction import is_summing, say

TEA = "Ann drinks green tea."
GIVEN = json.dumps({"summary": "They spoke of tea.", "facts": [TEA]})


def options(folder: Path, accept: str = "auto") -> Options:
    return Options(
        workspace=folder,
        brings=remembering(folder, ask=accept == "ask"),
        settings=RunSettings(max_history=4),
    )


def model(summary: str = GIVEN, **profile: object) -> ScriptedProvider:
    scripted = ModelProfile(name="scripted", provider="test", **profile)  # type: ignore[arg-type]
    return ScriptedProvider(
        otherwise=lambda request: summary if is_summing(request) else "ok", model=scripted
    )


def asked(provider: ScriptedProvider) -> list[ModelRequest]:
    return [request for request in provider.requests if is_summing(request)]


async def compact(bot: FakeGateway) -> str:
    await say(bot, "I like tea", "green tea")
    await bot.channel.push("/compact")
    return (await bot.channel.pop()).text


async def talk(bot: FakeGateway, sender: str) -> None:
    """Until the window moves."""
    before = len(bodies(bot, SummaryEntry))
    while len(bodies(bot, SummaryEntry)) == before:
        key = str(len(bot.home.entries("fake:1")))  # also after another process
        await bot.channel.push("I like tea", sender=sender, key=key)
        await bot.channel.pop()


async def known(bot: FakeGateway, state: str = "") -> list[MemoryView]:
    return await memory_of(bot).listed(scopes=None, state=state)


async def test_a_fact_is_in_memory_and_in_its_file_and_says_where_it_comes_from(
    tmp_path: Path,
) -> None:
    async with gateway(model(), options=options(tmp_path)) as bot:
        text = await compact(bot)
        assert text.endswith("They spoke of tea.\n\n(1 fact went to memory: /memory list)")
        (memory,) = await known(bot)
        (entry,) = bodies(bot, SummaryEntry)
        assert (memory.scope, memory.text, memory.state, memory.kind) == (
            "owner",
            TEA,
            "active",
            "fact",
        )
        assert memory.provenance.session_key == "fake:1"
        assert (memory.provenance.first_seq, memory.provenance.last_seq) == (1, entry.upto)
        (runs,) = [e.run_id for e in bot.home.entries("fake:1") if isinstance(e.body, SummaryEntry)]
        assert memory.provenance.run_id == runs
        assert (tmp_path / "MEMORY.md").read_text() == f"# Memory\n\n- {TEA}\n"
        assert (entry.text, entry.facts, entry.scope) == ("They spoke of tea.", 1, "owner")


async def test_it_is_in_the_prompt_that_the_moved_window_brings(tmp_path: Path) -> None:
    provider = model()
    async with gateway(provider, options=options(tmp_path)) as bot:
        await say(bot, "one", "two", "three", "four")
        assert TEA not in str(provider.requests[0].messages[0].content)
        assert TEA in str(provider.requests[-1].messages[0].content)


async def test_a_member_s_facts_go_to_the_member_s_memory(tmp_path: Path) -> None:
    async with gateway(model(), options=options(tmp_path)) as bot:
        await talk(bot, MEMBER)
        (memory,) = await known(bot)
        assert memory.scope == f"people/fake/{MEMBER}"
        assert not (tmp_path / "MEMORY.md").exists()
        assert TEA in (tmp_path / "memory" / memory.scope / "MEMORY.md").read_text()


async def test_where_several_people_spoke_nobody_s_memory_gets_the_facts(tmp_path: Path) -> None:
    provider = model()
    async with gateway(provider, options=options(tmp_path)) as bot:
        await say(bot, "hello")
        await talk(bot, MEMBER)
        await talk(bot, MEMBER)  # alone since, but for what the summary says
        assert await known(bot) == []
        assert not any("facts" in str(request.messages[0].content) for request in asked(provider))


async def test_a_summary_of_several_people_s_words_is_known_as_such(tmp_path: Path) -> None:
    async with gateway(model(), options=options(tmp_path)) as bot:
        await compact(bot)
        await talk(bot, MEMBER)
        assert [entry.scope for entry in bodies(bot, SummaryEntry)] == ["owner", ""]
        assert [memory.scope for memory in await known(bot)] == ["owner"]


@pytest.mark.parametrize("accept", ["auto", "ask"])
async def test_what_is_not_sure_is_only_proposed(tmp_path: Path, accept: str) -> None:
    fetch = msgspec.structs.replace(Recorder().tool("fetch", Effect.NONE), taints=True)
    async with gateway(model(), tools=[fetch], options=options(tmp_path, accept)) as bot:
        if accept == "auto":
            await bot.channel.push("hello", tainted=True)
            await bot.channel.pop()
        await compact(bot)
        (memory,) = await known(bot)
        assert memory.state == "proposed"
        assert memory.provenance.tainted is (accept == "auto")
        assert not (tmp_path / "MEMORY.md").exists()
        (entry,) = bodies(bot, SummaryEntry)
        assert entry.tainted is (accept == "auto")


async def test_what_a_person_rejected_is_not_kept_again(tmp_path: Path) -> None:
    async with MemoryHome() as home:
        async with gateway(model(), home=home, options=options(tmp_path, "ask")) as bot:
            await compact(bot)
            (memory,) = await known(bot)
            await memory_of(bot).reject(memory.id)
        async with gateway(model(), home=home, options=options(tmp_path)) as bot:
            await talk(bot, "1001")
            assert [(memory.text, memory.state) for memory in await known(bot)] == [
                (TEA, "retracted")
            ]


async def test_undo_says_that_memory_keeps_what_it_got(tmp_path: Path) -> None:
    async with gateway(model(), options=options(tmp_path)) as bot:
        await compact(bot)
        await bot.channel.push("/compact undo")
        assert (await bot.channel.pop()).text == (
            "I see everything again that the summary covered. "
            "What went to memory with it (1 fact) stays there: /memory list"
        )
        assert [memory.text for memory in await known(bot, "active")] == [TEA]


@pytest.mark.parametrize(
    "given",
    ["They spoke of tea.", "```\nThey spoke of tea.\n```", '{"facts": ["x"]}', '{"summary": 3}'],
)
async def test_a_model_that_writes_no_such_object_gives_a_summary(
    tmp_path: Path, given: str
) -> None:
    async with gateway(model(given), options=options(tmp_path)) as bot:
        assert given in await compact(bot)
        assert await known(bot) == []


@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_kill_around_the_summary_leaves_both_or_neither(tmp_path: Path, side: str) -> None:
    async with MemoryHome() as home:
        async with gateway(model(), home=home, options=options(tmp_path)) as bot:
            for text in ("I like tea", "green tea"):
                await bot.channel.push(text)
                await bot.channel.pop()

            killed = asyncio.Event()

            def kill(verb: str) -> None:
                if verb == "record_result":
                    bot.crash()
                    killed.set()

            setattr(bot.process, side, kill)
            await bot.channel.push("/compact")
            await killed.wait()
            kept = len(bodies(bot, SummaryEntry))
            assert kept == (side == "after")
        assert not (tmp_path / "MEMORY.md").exists()
        async with gateway(model(), home=home, options=options(tmp_path)) as bot:
            assert "They spoke of tea." in (await bot.channel.pop()).text
            assert len(bodies(bot, SummaryEntry)) == 1
            (memory,) = await known(bot)
            assert memory.text == TEA
            assert (tmp_path / "MEMORY.md").read_text().count(TEA) == 1


async def test_a_folder_that_cannot_be_written_costs_the_file_for_now(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "MEMORY.md").mkdir()
    async with gateway(model(), options=options(workspace)) as bot:
        assert "They spoke of tea." in await compact(bot)
        (workspace / "MEMORY.md").rmdir()
        assert [memory.text for memory in await known(bot)] == [TEA]
        assert TEA in (workspace / "MEMORY.md").read_text()


async def test_without_memory_or_with_a_small_model_there_are_no_facts(tmp_path: Path) -> None:
    off = Options(workspace=tmp_path, settings=RunSettings(max_history=4))
    provider = model()
    async with gateway(provider, options=off) as bot:
        await compact(bot)
        assert "facts" not in str(asked(provider)[0].messages[0].content)
        count = "SELECT count(*) FROM memories"
        assert bot.home.do(lambda connection: connection.exec_driver_sql(count).scalar()) == 0
    provider = model(helper_calls=False)
    async with gateway(provider, options=options(tmp_path)) as bot:
        await compact(bot)
        assert asked(provider) == []
