"""What a turn costs by the length of its history: no Python function is called for each entry that
is read, and few for each that is shown. Counted, because times depend on the machine."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

import msgspec

from nanobot.agent.context import PromptBudget, context, plan_window
from nanobot.agent.entry_messages import Rendered
from nanobot.agent.model_calls import _keep
from nanobot.agent.run_log import RunLog
from nanobot.providers.base import ChatMessage
from nanobot.session.entries import Body, Entry
from nanobot.session.runs import PromptSnapshot
from nanobot.store.journal import log as store_log
from nanobot.testing import gateway
from tests.agent.building import PROFILE, asking, log, reply, user

T = TypeVar("T")

KEY = "fake:1"
TURNS = 100
PROMPT = PromptSnapshot(system="You help.", tools=())


def calls(work: Callable[[], T]) -> tuple[T, int]:
    """The result of `work`, and how many Python functions it called."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(before)
    return result, count


def history(turns: int) -> list[Entry]:
    bodies: list[Body] = []
    for number in range(1, turns + 1):
        said = msgspec.structs.replace(user(f"question {number}"), label="o1")
        bodies += [said, asking(number), reply(number, f"answer {number}")]
    return log(*bodies)


async def test_reading_a_history_calls_nothing_for_each_entry() -> None:
    async with gateway() as bot:
        for number in range(32):
            await bot.channel.push(f"message {number}")
            await bot.channel.pop()
        await bot.settle()
        _, few = calls(lambda: bot.home.do(lambda c: store_log.read(c, KEY, 0, 12)))
        entries, many = calls(lambda: bot.home.do(lambda c: store_log.read(c, KEY, 0)))
        assert len(entries) == 3 * 32 + 1
        assert many <= few


async def test_a_history_that_was_read_before_is_not_decoded_again() -> None:
    async with gateway() as bot:
        await bot.channel.push("hello")
        await bot.channel.push("x" * 10_000)
        await bot.settle()
        once, again = (bot.home.do(lambda c: store_log.read(c, KEY, 0)) for _ in range(2))
        assert once == again
        same = [a.body is b.body for a, b in zip(once, again, strict=True)]
        assert same.count(False) < same.count(True)


def test_beginning_a_run_looks_at_the_labels_of_messages_alone() -> None:
    entries = history(TURNS)
    _, count = calls(lambda: RunLog("another", entries))
    assert count <= TURNS + 50


def test_planning_and_rendering_call_few_functions_for_each_message() -> None:
    entries = history(TURNS)
    room = PromptBudget(profile=PROFILE, fixed=10, max_tokens=1_000, max_history=4 * TURNS)
    window, count = calls(lambda: plan_window(entries, 1, room, overflowed=False))
    assert window.start == 1
    assert count <= 5 * TURNS + 50
    call = asking(TURNS + 1)
    messages, count = calls(lambda: context(entries, PROMPT, call))
    assert len(messages) == 2 * TURNS + 1
    assert count <= 8 * TURNS + 50


def test_a_further_call_of_a_run_renders_only_what_is_new() -> None:
    entries, rendered = history(TURNS), Rendered()
    room = PromptBudget(profile=PROFILE, fixed=10, max_tokens=1_000, max_history=4 * TURNS)

    def both() -> tuple[ChatMessage, ...]:
        plan_window(entries, 1, room, overflowed=False, rendered=rendered)
        return context(entries, PROMPT, asking(TURNS + 1), rendered)

    first, _ = calls(both)
    entries += log(user("more"), first=len(entries) + 1)
    second, count = calls(both)
    assert second[:-1] == first
    assert count <= 40


def test_what_is_made_for_the_next_calls_is_kept_of_the_latest_sessions_only() -> None:
    kept: OrderedDict[str, int] = OrderedDict()
    for number in range(5):
        _keep(kept, f"{number}", number, 3)
    assert kept.pop("2") == 2
    _keep(kept, "2", 2, 3)
    _keep(kept, "5", 5, 3)
    assert [*kept] == ["4", "2", "5"]
