"""A fork of a very long run: its entries are copied in pages, and each page is a transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
import sqlalchemy as sa

from nanobot.messages import Address, Origin, Role
from nanobot.plugins.common.runs.recorded import Otherwise
from nanobot.plugins.fork.plan import ForkRequest
from nanobot.plugins.fork.store import ROWS
from nanobot.providers.base import ModelProfile, ToolCall, Usage
from nanobot.session.entries import Body, ModelCallEntry, ReplyEntry, ToolResultEntry, UserEntry
from nanobot.session.runs import Run
from nanobot.session.states import RunKind, RunState
from nanobot.store.journal import log, runs
from nanobot.store.unit import StoreContext, Unit
from nanobot.testing.gateway import FakeGateway, MemoryHome
from tests.agent.tooling import Recorder
from tests.plugins.fork.test_fork_lives import KEY, forking, tools_of, two_rounds

ADDRESS = Address("fake", "1")
PROFILE = ModelProfile(name="scripted", provider="test")


def bodies(rounds: int) -> Iterator[Body]:
    yield UserEntry(
        text="go on",
        address=ADDRESS,
        sender_id="1001",
        role=Role.OWNER,
        sent_at=0.0,
        inbound_id=1,
    )
    for number in range(1, rounds + 1):
        yield ModelCallEntry(
            call=number,
            prompt="p",
            window_from=1,
            profile=PROFILE,
            estimate=9,
            temperature=0.0,
            max_tokens=9,
        )
        call = ToolCall(f"c{number}", "look", f'{{"text": "{number}"}}')
        yield ReplyEntry(call=number, text="", tool_calls=(call,), usage=Usage(9, 9))
        yield ToolResultEntry(call=number, index=0, name="look", text=f"saw {number}")


def fill(bot: FakeGateway, home: MemoryHome, rounds: int) -> None:
    """One run with that many rounds of tools, which has ended."""
    writer = bot.process.writer

    def begin(connection: sa.Connection) -> None:
        log.ensure_session(Unit(connection, writer), KEY, "long")
        run = Run(
            id="long",
            session_key=KEY,
            kind=RunKind.CHAT,
            state=RunState.COMPLETED,
            origin=Origin.USER,
            address=ADDRESS,
            sender_id="1001",
            role=Role.OWNER,
            reply_to=None,
            first_seq=1,
            attempts=1,
            created_at=0.0,
            ended_at=1.0,
        )
        runs.insert(connection, run, None)

    home.do(begin)
    every = list(bodies(rounds))
    for first in range(0, len(every), 1_000):
        home.do(partial(add, bot.process.writer, every[first : first + 1_000]))


def add(writer: StoreContext, some: Sequence[Body], connection: sa.Connection) -> None:
    log.append(Unit(connection, writer), log.lane_of(connection, KEY), "long", some)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("rounds", [500, pytest.param(33_333, marks=pytest.mark.slow)])
async def test_a_long_run_is_copied_page_by_page(
    rounds: int, record_property: Callable[[str, object], None]
) -> None:
    async with (
        MemoryHome() as home,
        forking(two_rounds(), tools_of(Recorder()), home) as serving,
    ):
        fill(serving.bot, home, rounds)
        await serving.bot.worker.drain(0.0)
        before, began = len(serving.bot.process.verbs), time.monotonic()
        request = ForkRequest(at=3 * rounds + 1, otherwise=Otherwise.REFUSE, by="ann")
        fork = await serving.forks.begin("long", request)
        seconds = time.monotonic() - began
        pages = serving.bot.process.verbs[before:].count("fork_copied")
        record_property("seconds", seconds)
        copied = home.verify(f"fork:{fork}")

    assert copied == 3 * rounds + 2
    assert pages == (3 * rounds + 1) // ROWS + 1
    print(f"{copied:,} entries in {pages} pages, {seconds:.1f} s")
