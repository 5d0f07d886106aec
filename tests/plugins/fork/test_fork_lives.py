"""Forks of generated lives: the parent and the world stay as they are, whatever is forked where,
and whenever the process is killed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from nanobot.agent.runner import Stage
from nanobot.config.loader import load
from nanobot.config.settings.tools import PolicySettings, RuleSettings
from nanobot.errors import StoreError, ToolDenied, UsageError
from nanobot.plugins.common.policy.policy import Policy
from nanobot.plugins.common.runs.recorded import Otherwise
from nanobot.plugins.fork import PLUGIN
from nanobot.plugins.fork.answering import ForkTools
from nanobot.plugins.fork.bench import place_of
from nanobot.plugins.fork.plan import CannotFork, ForkRequest
from nanobot.plugins.fork.service import Forks
from nanobot.plugins.fork.store import SqlForks
from nanobot.plugins.replay.replaying import prompts_of, replayed
from nanobot.session.chain import GENESIS
from nanobot.session.entries import ForkEntry, ReplyEntry, ToolResultEntry
from nanobot.store.database import schema
from nanobot.store.plugin_tables import migrate_plugin
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.model import Answer, ScriptedProvider, asks_for
from nanobot.tools.base import AnyTool, Effect, direct_call
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.verdict import Verdict
from tests.agent.test_simulation import Life
from tests.agent.tooling import Recorder
from tests.stored import lists_of, runs_of

KEY = "fake:1"
# What is left out are accounts, which forks are charged to, and indexes.
TABLES = (
    *("sessions", "entries", "runs", "inbound", "outbound", "outbound_parts", "jobs"),
    *("approvals", "approval_rules", "memories", "tasks", "tainted_files", "background_commands"),
)


class Forking:
    """A gateway with forks."""

    def __init__(self, bot: FakeGateway) -> None:
        self.bot = bot
        store = SqlForks(bot.process, bot.process.writer)
        self.forks = Forks(store, bot.provider, bot.tools, bot.bus)

    async def fork(self, run: str, request: ForkRequest) -> str:
        fork = await self.forks.begin(run, request)
        await self.bot.settle()
        return fork

    async def state(self, fork: str) -> str:
        run = await runs_of(self.bot.records).run(fork)
        return "" if run is None else str(run.state)


def standing_in(bot: FakeGateway) -> list[Stage]:
    """The plugin answers from the start, as in a gateway."""
    store = SqlForks(bot.process, bot.process.writer)
    config = load({"NANOBOT_HOME": "/nonexistent/home"})
    bot.tools.stand_in = ForkTools(place_of(config), store, bot.tools)
    return []


@asynccontextmanager
async def forking(
    provider: ScriptedProvider, tools: Sequence[AnyTool], home: MemoryHome
) -> AsyncIterator[Forking]:
    options = Options(stages=standing_in)
    async with gateway(provider, tools=tools, home=home, options=options) as bot:
        with suppress(StoreError):  # it may be killed at once
            await migrate_plugin(bot.process, "fork", PLUGIN.migrations)
        yield Forking(bot)


def rows(home: MemoryHome) -> dict[str, list[str]]:
    """Every row of a life that is no fork's."""

    def read(connection: sa.Connection) -> dict[str, list[str]]:
        query = sa.text("SELECT run_id FROM fork_runs")
        known = sa.inspect(connection).has_table("fork_runs")
        forks = set(connection.scalars(query)) if known else set()
        found: dict[str, list[str]] = {}
        for name in TABLES:
            table = schema.metadata().tables[name]
            each = [dict(row) for row in connection.execute(sa.select(table)).mappings()]
            found[name] = sorted(str(row) for row in each if not _of(row, forks))
        return found

    return home.do(read)


def _of(row: dict[str, Any], forks: set[str]) -> bool:
    keys = {str(row.get(name)) for name in ("id", "run_id", "key", "session_key")}
    return any(each in forks or each.startswith("fork:") for each in keys)


def tools_of(effects: Recorder) -> list[AnyTool]:
    return [effects.tool("act"), effects.tool("look", Effect.NONE), effects.tool("new")]


@pytest.mark.process
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10_000), chance=st.randoms(use_true_random=False))
def test_a_fork_of_any_life_touches_neither_the_parent_nor_the_world(
    seed: int, chance: random.Random
) -> None:
    asyncio.run(fork_of_a_life(seed, chance))


async def fork_of_a_life(seed: int, chance: random.Random) -> None:
    life = Life(seed)
    await life.whole()
    effects = Recorder()

    def answer(_: object) -> Answer:
        name = chance.choice(("act", "look", "new", "gone", ""))
        return asks_for(name, text=str(chance.random())) if name else "I have nothing to add."

    before, forks = rows(life.home), list[str]()
    provider = ScriptedProvider(otherwise=answer)
    async with forking(provider, tools_of(effects), life.home) as serving:
        runs = await runs_of(serving.bot.records).listed(session="", state="", limit=50)
        for run in chance.sample(runs, min(len(runs), 5)):
            numbers = [entry.seq for entry in await runs_of(serving.bot.records).entries(run.id)]
            request = ForkRequest(
                at=chance.choice([None, *numbers]),
                say=chance.choice(("", "And now?")),
                results=chance.choice(({}, {"act": "given"})),
                otherwise=chance.choice(list(Otherwise)),
                by="ann",
            )
            with suppress(UsageError, CannotFork):
                forks.append(await serving.fork(run.id, request))
        states = [await serving.state(fork) for fork in forks]
        sent = serving.bot.channel.sent

    assert rows(life.home) == before
    assert (effects.calls, sent) == ([], [])
    assert set(states) <= {"completed", "failed", "awaiting_human"}
    for fork in forks:
        await check(life.home, f"fork:{fork}", serving.bot)
    await life.home.close()


async def check(home: MemoryHome, key: str, bot: FakeGateway) -> None:
    """Its chain holds and proves its origin, and it replays like any other log."""
    assert home.verify(key)
    entries = home.entries(key)
    origin = entries[0].body
    assert isinstance(origin, ForkEntry)

    def parents_hash(connection: sa.Connection) -> bytes:
        table = schema.entries
        return bytes(
            connection.scalar(
                sa.select(table.c.hash).where(
                    table.c.session_key == origin.session, table.c.seq == origin.entry
                )
            )
            or GENESIS
        )

    assert home.do(parents_hash).hex() == origin.head
    prompts = {name: await bot.journal.snapshot(name) for name in prompts_of(entries)}
    again = replayed(entries, {name: kept for name, kept in prompts.items() if kept is not None})
    assert again.difference is None


def two_rounds() -> ScriptedProvider:
    """It looks, acts, and says what it got; in the fork it also does something new."""

    def answer(request: Any) -> Answer:
        told = [message.content for message in request.messages if message.role == "tool"]
        if len(told) == 0:
            return asks_for("look", text="here")
        if len(told) == 1:
            return asks_for("act", text="now")
        fork = any("fork it" in str(message.content) for message in request.messages)
        if fork and len(told) == 2:
            return asks_for("new", text="thing")
        return f"Done: {told}"

    return ScriptedProvider(otherwise=answer)


async def lived(home: MemoryHome, effects: Recorder) -> str:
    async with forking(two_rounds(), tools_of(effects), home) as serving:
        await serving.bot.channel.push("do it")
        await serving.bot.channel.pop("1")
        await serving.bot.settle()
        (run,) = await runs_of(serving.bot.records).listed(session=KEY, state="", limit=5)
    return run.id


REQUEST = ForkRequest(say="fork it", by="ann", otherwise=Otherwise.REFUSE)


async def whole_fork() -> tuple[list[str], list[str]]:
    """The verbs of a fork that nobody interrupts, and its log."""
    async with MemoryHome() as home:
        run = await lived(home, Recorder())
        async with forking(two_rounds(), tools_of(Recorder()), home) as serving:
            before = len(serving.bot.process.verbs)
            fork = await serving.fork(run, REQUEST)
            verbs = [verb for verb in serving.bot.process.verbs[before:] if verb]
        return verbs, shown(home, fork)


def shown(home: MemoryHome, fork: str) -> list[str]:
    """The fork's replies and results."""
    bodies = (entry.body for entry in home.entries(f"fork:{fork}"))
    return [body.text for body in bodies if isinstance(body, ReplyEntry | ToolResultEntry)]


@pytest.mark.process
async def test_a_fork_that_is_killed_at_any_verb_is_completed_and_nothing_is_done_twice() -> None:
    verbs, log = await whole_fork()
    assert "fork_created" in verbs
    assert "fork_copied" in verbs
    assert len(verbs) > 8
    for number in range(len(verbs)):
        for after in (False, True):
            await killed(number, log, after=after)


async def killed(number: int, log: list[str], *, after: bool) -> None:
    async with MemoryHome() as home:
        run = await lived(home, Recorder())
        before, effects = rows(home), Recorder()
        async with forking(two_rounds(), tools_of(effects), home) as serving:
            left = number

            def fate(verb: str) -> None:
                nonlocal left
                left -= bool(verb)
                if verb and left < 0:
                    serving.bot.crash()

            if after:
                serving.bot.process.after = fate
            else:
                serving.bot.process.before = fate
            with suppress(StoreError):
                await serving.fork(run, REQUEST)
            await serving.bot.settle()
        async with forking(two_rounds(), tools_of(effects), home) as serving:
            for fork in await serving.forks.store.unfinished():
                await serving.forks.complete(fork)
            await serving.bot.settle()
            runs = await runs_of(serving.bot.records).listed(session="", state="", limit=9)
            forks = [each for each in runs if each.session_key.startswith("fork:")]
            assert await serving.forks.store.unfinished() == []
        created = number > 0 or after
        assert [each.state for each in forks] == (["completed"] if created else [])
        assert (effects.calls, rows(home)) == ([], before)
        for each in forks:
            assert home.verify(each.session_key)
            assert shown(home, each.id)[-1] == log[-1]


async def test_a_run_that_still_works_is_forked_at_what_its_log_holds() -> None:
    async with MemoryHome() as home:
        effects = Recorder()
        waiting = asyncio.Event()

        async def hang(_: Any) -> str:
            await waiting.wait()
            return "late"

        tools = [effects.tool("look", Effect.NONE), effects.tool("act", then=hang)]
        async with forking(two_rounds(), tools, home) as serving:
            await serving.bot.channel.push("do it")
            await serving.bot.settle()
            (run,) = await runs_of(serving.bot.records).listed(session=KEY, state="live", limit=5)
            last = (await runs_of(serving.bot.records).entries(run.id))[-1].seq
            request = ForkRequest(at=last, results={"act": "in the fork"}, by="ann")
            fork = await serving.fork(run.id, request)
            state = await serving.state(fork)
            waiting.set()
            arrived = await serving.bot.channel.pop("1")

        assert state == "completed"
        assert "in the fork" in shown(home, fork)[-1]
        assert "late" in arrived.text


async def test_an_entry_of_a_newer_version_is_named_and_stays_as_it_is() -> None:
    async with MemoryHome() as home:
        run = await lived(home, Recorder())

        def rewrite(connection: sa.Connection) -> None:
            table = schema.entries
            newer = sa.update(table).where(table.c.session_key == KEY, table.c.kind == "reply")
            connection.execute(newer.values(payload=b'{"type": "hologram"}'))

        home.do(rewrite)
        before = rows(home)
        async with forking(two_rounds(), tools_of(Recorder()), home) as serving:
            last = (await runs_of(serving.bot.records).entries(run))[-1].seq
            with pytest.raises(CannotFork, match=r"Entry \d+ of fake:1 is an entry that this"):
                await serving.fork(run, ForkRequest(at=last, by="ann"))
            sessions = await lists_of(serving.bot.records).newest(limit=9, unread=False)

        assert rows(home) == before
        assert [session.key for session in sessions] == [KEY]


async def test_nine_forks_at_a_time_are_too_many() -> None:
    async with MemoryHome() as home:
        run = await lived(home, Recorder())
        async with forking(two_rounds(), tools_of(Recorder()), home) as serving:
            await serving.bot.worker.drain(0.0)
            request = ForkRequest(by="ann")
            for _ in range(8):
                await serving.forks.begin(run, request)
            with pytest.raises(UsageError, match="8 forks of fake:1 work already"):
                await serving.forks.begin(run, request)


async def forked_with(rules: Sequence[RuleSettings], otherwise: Otherwise) -> tuple[str, str]:
    """The state of a fork under these rules, and what its new call got."""
    async with MemoryHome() as home:
        effects = Recorder()
        run = await lived(home, effects)
        effects.calls.clear()
        async with forking(two_rounds(), tools_of(effects), home) as serving:
            serving.bot.tools.policy = Policy(PolicySettings(rules=tuple(rules)))
            request = ForkRequest(say="fork it", by="ann", otherwise=otherwise)
            fork = await serving.fork(run, request)
            state = await serving.state(fork)
        assert effects.calls == []
        return state, shown(home, fork)[-1]


async def test_what_the_policy_denies_in_the_chat_of_the_run_is_not_even_asked_about() -> None:
    there = RuleSettings(verdict="deny", tool="new", channels=("fake",), why="not in that chat")
    elsewhere = RuleSettings(verdict="deny", tool="new", channels=("other",))

    denied, text = await forked_with([there], Otherwise.ASK)
    asked, _ = await forked_with([elsewhere], Otherwise.ASK)

    assert (denied, asked) == ("completed", "awaiting_human")
    assert "not in that chat" in text


async def test_a_rule_that_allows_a_call_does_not_allow_it_in_a_fork() -> None:
    everything = RuleSettings(verdict="allow", tool="*")

    refused, text = await forked_with([everything], Otherwise.COPY)
    asked, _ = await forked_with([everything], Otherwise.ASK)

    assert (refused, asked) == ("completed", "awaiting_human")
    assert "nothing new may be done here" in text


async def test_where_the_plugin_is_off_a_fork_makes_no_call() -> None:
    effects, tools = Recorder(), ToolRegistry()
    tools.register(effects.tool("act"))
    context = replace(direct_call("1"), session_key="fork:1", approved=True)

    decision = await tools.judge("act", "{}", context)
    with pytest.raises(ToolDenied, match="where the plugin fork is off"):
        await tools.perform("act", "{}", context)

    assert decision.verdict is Verdict.DENY
    assert effects.calls == []
