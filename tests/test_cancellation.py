"""A cancelled task ends: nothing takes its cancellation for that of something it waits for."""

from __future__ import annotations

import ast
import asyncio
import re
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanobot.boundary import WantedToExit
from nanobot.bus.core import Subscription
from nanobot.messages import Address, InboundMessage, Sender
from nanobot.plugins.common.runs.run_client import RunClient
from nanobot.plugins.common.threads import aside
from nanobot.plugins.memory.embed import LocalEmbedder
from nanobot.supervision import to_its_end
from nanobot.testing import gateway
from nanobot.testing.platform import OWNER

ROOT = Path(__file__).parent.parent
AT_ITS_END = frozenset(
    {"nanobot/plugins/control/control.py", "nanobot/plugins/shell/sandbox/proxy.py"}
)
"""The task of a connection ends there, and nothing awaits it."""


def swallowed(tree: ast.AST) -> Iterator[int]:
    """The lines where a CancelledError is caught and not raised again."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            if any("CancelledError" in ast.unparse(each) for each in node.args):
                yield node.lineno
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            named = "CancelledError" in ast.unparse(node.type)
            if named and not any(isinstance(each, ast.Raise) for each in ast.walk(node)):
                yield node.lineno


@pytest.mark.process
def test_no_cancellation_is_swallowed() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for folder in ("nanobot", "channels")
        for path in (ROOT / folder).rglob("*.py")
        if (lines := list(swallowed(ast.parse(path.read_text()))))
    }
    assert set(found) == AT_ITS_END, found


class Slow(RunClient):
    """Following takes some turns of the loop to end."""

    async def _follow(self, watching: Subscription, address: Address, run_id: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(3):
                await asyncio.sleep(0)


@pytest.mark.parametrize("turn", range(4))
async def test_who_is_cancelled_while_leaving_a_run_is_cancelled(turn: int) -> None:
    async with gateway() as bot:
        client = Slow(bot.bus, bot.worker, bot.home.clock, lambda: False)
        leaving = asyncio.Event()

        async def follow() -> None:
            message = InboundMessage(
                address=Address("fake", "1"),
                message_id="1",
                dedupe_key="1",
                sender=Sender(OWNER),
                text="hello",
            )
            async with client.followed(message, "fake:1"):
                await bot.settle()  # it is followed
                leaving.set()

        task = asyncio.create_task(follow())
        await leaving.wait()
        for _ in range(turn):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await bot.channel.pop()).text == "echo: hello"


# Threads cannot be cancelled


class Work:
    """What a thread does; `most` threads were in it at once."""

    def __init__(self) -> None:
        self.most = self.inside = 0
        self.goes_on = threading.Event()

    def __call__(self, *_: object) -> list[list[float]]:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.goes_on.wait(10)
        self.inside -= 1
        return [[0.0]]


class Embedder(LocalEmbedder):
    """Its model takes as long as a test wants."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._encode = work  # type: ignore[assignment, method-assign]


async def three_of_which_two_are_cancelled(
    work: Work, call: Callable[[], Coroutine[Any, Any, Any]], *, patient: bool
) -> None:
    """`patient`: who is cancelled while a thread works for them waits for its end."""
    tasks = []
    for _ in range(3):
        tasks.append(asyncio.create_task(call()))
        await asyncio.sleep(0.02)
    tasks[0].cancel()
    tasks[1].cancel()
    await asyncio.sleep(0.02)
    assert (tasks[0].done(), tasks[1].done(), tasks[2].done()) == (not patient, True, False)
    work.goes_on.set()
    assert await tasks[2] == [[0.0]]
    assert work.most == 1
    assert tasks[0].cancelled()


async def test_a_lock_is_held_until_the_thread_of_its_holder_has_ended() -> None:
    lock, work = asyncio.Lock(), Work()

    async def call() -> list[list[float]]:
        async with lock:
            return await to_its_end(work)

    await three_of_which_two_are_cancelled(work, call, patient=True)


async def test_a_model_on_a_thread_is_used_by_one_at_a_time_whoever_loses_patience() -> None:
    work = Work()
    embedder = Embedder(work)
    await three_of_which_two_are_cancelled(work, lambda: embedder.embed(["x"]), patient=False)


FAILURES = [OSError("x"), KeyError("x"), RuntimeError("x"), RecursionError(), MemoryError()]


@pytest.mark.parametrize("failure", [*FAILURES, SystemExit(1)], ids=repr)
async def test_what_a_thread_raises_reaches_who_waits_for_it(failure: BaseException) -> None:
    def work() -> None:
        raise failure

    async with asyncio.timeout(5):
        with pytest.raises((type(failure), WantedToExit)):
            await aside(work, "a test")


READING = frozenset({"nanobot/plugins/fork/bench.py", "nanobot/plugins/http_api/openapi.py"})
"""What a thread does there may be done twice at once."""


def unheld(tree: ast.AST) -> Iterator[int]:
    """The lines within a lock whose thread outlives it if the holder is cancelled."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.AsyncWith):
            continue
        locks = [ast.unparse(item.context_expr) for item in node.items]
        if any(re.search(r"lock|writing|making|turn|changing", lock) for lock in locks):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and ast.unparse(inner.func) == "asyncio.to_thread":
                    yield inner.lineno


@pytest.mark.process
def test_no_lock_is_given_up_while_a_thread_works() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for folder in ("nanobot", "channels")
        for path in (ROOT / folder).rglob("*.py")
        if (lines := list(unheld(ast.parse(path.read_text()))))
    }
    assert set(found) == READING, found
