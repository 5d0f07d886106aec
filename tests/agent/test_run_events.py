"""What watchers of a run are told: numbered through waits, whole, and of every call."""

from __future__ import annotations

import re

import msgspec
import pytest

from nanobot.messages import EventKind, RunEvent
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER
from nanobot.tools.base import CallContext, Effect, Tool
from tests.agent.tooling import Recorder


class Watching:
    """The events of one session."""

    def __init__(self, bot: FakeGateway, session: str = "fake:1") -> None:
        self._subscription = bot.bus.subscribe(session)

    async def until_end(self) -> list[RunEvent]:
        events = []
        async for event in self._subscription:
            events.append(event)
            if event.kind is EventKind.END:
                break
        return events


async def waited(verdict: str) -> list[RunEvent]:
    """The events of a run that waits for an owner's word, which is this."""
    act = msgspec.structs.replace(Recorder().tool("act"), risk="high")
    model = ScriptedProvider("hi", asks_for("act"), "So be it.")
    async with gateway(model, tools=[act]) as bot:
        await bot.channel.push("hello", chat="9")
        await bot.channel.pop("9")
        watching = Watching(bot)
        await bot.channel.push("act", sender=MEMBER)
        number = re.search(r"\(#(\d+)\)", (await bot.channel.pop("9")).text)
        assert number
        await bot.channel.push(f"/{verdict} {number[1]}", chat="9")
        return await watching.until_end()


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_events_are_numbered_on_through_a_wait_for_a_person(verdict: str) -> None:
    events = await waited(verdict)
    assert len({event.run_id for event in events}) == 1
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


async def test_a_call_that_a_person_denied_has_its_result_event() -> None:
    events = await waited("deny")
    (result,) = [event for event in events if event.kind is EventKind.TOOL_RESULT]
    assert result.payload["name"] == "act"
    assert result.payload["ok"] is False
    assert result.payload["text"].startswith("not executed: denied by")
    assert result.payload["key"] == f"{result.run_id}:1:0"


class Note(msgspec.Struct, frozen=True):
    note: str


async def test_events_of_calls_carry_all_arguments_and_the_whole_result() -> None:
    async def read(_args: Note, _context: CallContext) -> str:
        return "x" * 5_000

    async with gateway(
        ScriptedProvider(asks_for("look", note="n" * 900), "done"),
        tools=[Tool(name="look", description="Looks.", args=Note, run=read, effect=Effect.NONE)],
    ) as bot:
        watching = Watching(bot)
        await bot.channel.push("look")
        events = {event.kind: event.payload for event in await watching.until_end()}
        assert len(events[EventKind.TOOL_RESULT]["text"]) == 5_000
        arguments = msgspec.json.decode(events[EventKind.TOOL_CALL]["arguments"])
        assert len(arguments["note"]) == 900
