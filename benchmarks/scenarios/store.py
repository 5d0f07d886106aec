"""The journal's verbs alone: what durability costs before anything else does."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import Stage, Subject
from nanobot.messages import Address, InboundMessage, OutboundMessage, Role, Sender
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.ports import OutboundPart
from nanobot.providers.base import ModelProfile, ToolCall
from nanobot.session.entries import (
    Body,
    ModelCallEntry,
    PromptEntry,
    ReplyEntry,
    ToolResultEntry,
    ToolStartedEntry,
)
from nanobot.session.inbox import Admission
from nanobot.session.journal import Journal
from nanobot.session.runs import Claim, Ending, PromptSnapshot
from nanobot.session.states import RunState
from nanobot.store.opening import contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock

T = TypeVar("T")

TURN = ("admit", "claim", "start_model", "finish", "begin_send", "receipt")
ROUND = ("record_reply", "start_tool", "record_result")
TURNS_OF_A_CHAT = 10
AT_ONCE = 50
TEXT = "A message of ordinary length, as people write them when they ask for something."
PROFILE = ModelProfile(name="scripted", provider="bench")
PROMPT = PromptSnapshot(system="A system prompt of some length. " * 100, tools=())
DIGEST = "0" * 64


async def store(stage: Stage, subject: Subject) -> Sample:
    """The Journal's verbs over SQLite with full sync, without a gateway: ms for each, and
    transactions per second, one after another and for 50 chats at once. The floor appends 1 KB to a
    file with fdatasync.

    A turn is six of these (and three more for each round of tools), so this is the part of a
    turn that keeping it costs. Chats at once share commits, which is why they get more done.
    """
    folder = stage.home()
    if subject is Subject.FLOOR:
        seconds = await asyncio.to_thread(_append, folder / "bare", stage.effort.stored)
        middle = statistics.median(seconds)
        each = dict.fromkeys((*TURN, *ROUND), middle * 1e3)
        return {"rate": len(seconds) / sum(seconds), **each}
    async with _journal(folder) as journal:
        alone = Turns(journal)
        begin = time.monotonic()
        for number in range(stage.effort.stored):
            await alone.turn(number // TURNS_OF_A_CHAT, number)
        seconds_alone = time.monotonic() - begin
        for number in range(stage.effort.stored // 3):
            await alone.turn(100_000 + number // TURNS_OF_A_CHAT, number, tools=True)
        burst = await _burst(journal, max(stage.effort.stored // AT_ONCE, 1))
    sample = {verb: statistics.median(times) * 1e3 for verb, times in alone.seconds.items()}
    return sample | {"rate": len(TURN) * stage.effort.stored / seconds_alone, "burst": burst}


async def _burst(journal: Journal, each: int) -> float:
    begin = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for chat in range(200_000, 200_000 + AT_ONCE):
            tasks.create_task(_talk(Turns(journal), chat, each))
    return AT_ONCE * each * len(TURN) / (time.monotonic() - begin)


async def _talk(turns: Turns, chat: int, each: int) -> None:
    for number in range(each):
        await turns.turn(chat, number)


@asynccontextmanager
async def _journal(home: Path) -> AsyncIterator[Journal]:
    opened = open_store(
        home,
        "",
        contexts(SystemClock(), RandomIds(), store_hooks()),
        command="benchmarks",
        crash="",
    )
    try:
        yield opened.journal
    finally:
        await opened.close()


def _append(path: Path, times: int) -> list[float]:
    taken = []
    with path.open("wb", buffering=0) as file:
        for _ in range(times):
            begin = time.perf_counter()
            file.write(b"." * 1024)
            os.fdatasync(file.fileno()) if hasattr(os, "fdatasync") else os.fsync(file.fileno())
            taken.append(time.perf_counter() - begin)
    return taken


class Turns:
    """Turns as the gateway makes them, with the time of each verb."""

    def __init__(self, journal: Journal) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self._journal = journal
        self._ids = RandomIds()

    async def turn(self, chat: int, number: int, *, tools: bool = False) -> None:
        """One message from its admission to the receipt of its answer."""
        address = Address("telegram", str(chat))
        key = f"telegram:{chat}"
        message = self._message(address, number)
        admission = Admission(message=message, session_key=key, role=Role.MEMBER)
        journal, timed = self._journal, self._timed
        await timed("admit", journal.admit("telegram", [admission], str(number), 50))
        claim = await timed("claim", journal.claim(key, self._ids.run_id(), "UTC"))
        assert claim is not None
        await self._model_call(claim, 1)
        if tools:
            await self._round(claim)
            await self._model_call(claim, 2)
        answer = OutboundMessage(address=address, text=TEXT, key=f"{claim.run.id}:0")
        last = ReplyEntry(call=2 if tools else 1, text=TEXT)
        ending = Ending(state=RunState.COMPLETED, bodies=(last,), outbound=(answer,))
        await timed("finish", journal.finish(claim.lane, claim.run, ending))
        row = await journal.next_outbound(address)
        assert row is not None
        parts = [OutboundPart(text=TEXT, payload=b"{}", key=answer.key)]
        await timed("begin_send", journal.begin_send(row, parts, 0, duplicate=False))
        await timed("receipt", journal.receipt(row, 0, str(number), begin=None))

    async def _model_call(self, claim: Claim, call: int) -> None:
        asked = ModelCallEntry(
            call=call,
            prompt=DIGEST,
            window_from=claim.window_from,
            profile=PROFILE,
            estimate=1_000,
            temperature=0.7,
            max_tokens=4_096,
        )
        fresh = claim.prompt is None and call == 1
        entries: list[Body] = [asked]
        if fresh:
            entries.insert(0, PromptEntry(digest=DIGEST, prompt_variant="full"))
        await self._timed(
            "start_model",
            self._journal.start_model(claim.lane, claim.run, entries, PROMPT if fresh else None),
        )

    async def _round(self, claim: Claim) -> None:
        journal, lane, run = self._journal, claim.lane, claim.run
        reply = ReplyEntry(call=1, text="", tool_calls=(ToolCall("call_0", "write_file", "{}"),))
        started = ToolStartedEntry(call=1, index=0, name="write_file")
        result = ToolResultEntry(call=1, index=0, name="write_file", text=TEXT)
        await self._timed("record_reply", journal.record_reply(lane, run, reply))
        await self._timed("start_tool", journal.start_tool(lane, run, started))
        await self._timed("record_result", journal.record_result(lane, run, [result]))

    async def _timed(self, verb: str, done: Awaitable[T]) -> T:
        begin = time.perf_counter()
        result = await done
        self.seconds[verb].append(time.perf_counter() - begin)
        return result

    @staticmethod
    def _message(address: Address, number: int) -> InboundMessage:
        return InboundMessage(
            address=address,
            message_id=str(number),
            dedupe_key=str(number),
            sender=Sender(address.chat_id, "Person"),
            text=TEXT,
            sent_at=time.time(),
        )


STORE = Scenario(
    "store",
    (
        Measure("rate", "transactions per second, one after another", "1/s"),
        Measure("burst", "transactions per second, 50 chats at once", "1/s"),
        *(Measure(verb, f"`{verb}`", "ms") for verb in (*TURN, *ROUND)),
    ),
    store,
)
