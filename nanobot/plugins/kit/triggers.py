"""The promises of nanobot.triggers.base.Trigger as checks, for triggers of any package.

@pytest.mark.parametrize("check", CHECKS)
async def test_a_trigger_keeps_what_the_port_promises(check: Check, tmp_path: Path) -> None:
    await check(Letterbox(tmp_path))
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol, TypeAlias

from nanobot.errors import StoreUnwritable
from nanobot.plugins.common.jobs.triggers import Taken, Trigger
from nanobot.plugins.kit.promises import soon, that

MAX_TEXT = 50_000


class TriggerSource(Protocol):
    """The source that a trigger watches, and the trigger over it."""

    def trigger(self) -> Trigger:
        """A new one over the same source; the previous one is no longer used."""

    async def happen(self, what: str) -> None:
        """Cause an event; `what` is a word that its prompt will contain."""


Check: TypeAlias = Callable[[TriggerSource], Awaitable[None]]


class RecordingPublisher:
    """A publisher that records what it is given. `troubles` are the errors of the next calls."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.keys: list[str] = []
        self.offered = 0
        self.troubles: list[Taken | Exception] = []

    async def publish(self, text: str, *, key: str = "") -> Taken:
        self.offered += 1
        trouble = self.troubles.pop(0) if self.troubles else "taken"
        if isinstance(trouble, Exception):
            raise trouble
        if key and key in self.keys:
            return "known"
        if trouble == "taken":
            self.texts.append(text)
            self.keys.append(key)
        return trouble

    def has(self, word: str) -> bool:
        """Whether an event with that word was accepted."""
        return any(word in text for text in self.texts)


@asynccontextmanager
async def _running(
    trigger: Trigger, taker: RecordingPublisher
) -> AsyncIterator[asyncio.Task[None]]:
    """A running trigger; if it ends early, waiting for the task shows it."""
    task: asyncio.Task[None] | None = None

    async def run() -> None:
        try:
            await trigger.run(taker)
        except* StoreUnwritable:
            pass  # like the gateway's host: it is started again

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(run(), name="trigger")
        yield task
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=10)
        that(done, "run ends when it is cancelled")


async def publishes_what_happens(source: TriggerSource) -> None:
    """An event is described in words, once, and fits into a prompt."""
    taker = RecordingPublisher()
    async with _running(source.trigger(), taker) as task:
        await source.happen("heron")
        await soon(lambda: taker.has("heron") or task.done(), "what happens is published")
        that(not task.done(), "run continues until it is cancelled")
        await source.happen("stork")
        await soon(lambda: taker.has("stork"), "what happens next is published")
    that(all(0 < len(text.strip()) <= MAX_TEXT for text in taker.texts), "a prompt is text")
    that(sum("heron" in text for text in taker.texts) == 1, "once, not more often")


async def may_be_run_again(source: TriggerSource) -> None:
    """A run that was ended leaves nothing behind that disturbs the next one."""
    for word in ("heron", "stork"):
        taker = RecordingPublisher()
        async with _running(source.trigger(), taker):
            await source.happen(word)
            await soon(lambda publisher=taker, text=word: publisher.has(text), "each run publishes")  # type: ignore[misc]


async def goes_on_when_it_is_not_taken(source: TriggerSource) -> None:
    """With too many pending messages it continues, and publishes later events."""
    taker = RecordingPublisher()
    taker.troubles = ["full"]
    async with _running(source.trigger(), taker) as task:
        await source.happen("heron")
        await soon(lambda: taker.offered > 0, "what happens is published")
        await source.happen("stork")
        await soon(lambda: taker.has("stork") or task.done(), "later events are published")
        that(not task.done(), "run continues when the queue is full")


async def may_be_started_after_an_error(source: TriggerSource) -> None:
    """A store error is raised or tolerated; either way the next run works."""
    taker = RecordingPublisher()
    taker.troubles = [StoreUnwritable("the disk is full")]
    async with _running(source.trigger(), taker):
        await source.happen("heron")
        await soon(lambda: taker.offered > 0, "what happens is published")
    async with _running(source.trigger(), taker):
        await source.happen("stork")
        await soon(lambda: taker.has("stork"), "after an error it works again")


CHECKS: tuple[Check, ...] = (
    publishes_what_happens,
    may_be_run_again,
    goes_on_when_it_is_not_taken,
    may_be_started_after_an_error,
)
