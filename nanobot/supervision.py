"""Supervision: works that last as long as the process. One that fails is named and started again,
and no other one notices."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from typing import TypeAlias, TypeVar

from loguru import logger

from nanobot.boundary import boundary
from nanobot.retries import Backoff, Clock

_RESTARTS = Backoff(first=1.0, longest=300.0)
_STEADY_SECONDS = 600.0
"""A work that ran so long before it failed begins with the first pause again."""

T = TypeVar("T")
Work: TypeAlias = Callable[[], Awaitable[None]]


async def supervised(name: str, work: Work, clock: Clock) -> None:
    """Do `work` until it ends without a failure, or until cancelled. After a failure it is started
    again, first after a second and later after up to five minutes."""
    failures = 0
    while True:
        began = clock.monotonic()
        with boundary(name) as caught:
            await work()
        if caught.error is None:
            return
        if clock.monotonic() - began >= _STEADY_SECONDS:
            failures = 0
        failures += 1
        pause = _RESTARTS.delay(failures)
        logger.warning("{} is started again in {:g} s", name, pause)
        await clock.sleep(pause)


def begin_all(
    tasks: asyncio.TaskGroup, works: Mapping[str, Work], clock: Clock
) -> list[asyncio.Task[None]]:
    """Begin works, each supervised under its name; returns their tasks, in the same order."""
    return [
        tasks.create_task(supervised(name, work, clock), name=name) for name, work in works.items()
    ]


async def side_by_side(works: Mapping[str, Work], clock: Clock) -> None:
    """Do these works at once, each supervised under its name, until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        begin_all(tasks, works, clock)


def on_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """The result of a function that a thread has begun to call. Whoever awaits it shields it, or
    else a cancellation would make it look as if the function had ended."""
    return asyncio.get_running_loop().run_in_executor(None, copy_context().run, function)


async def to_its_end(function: Callable[[], T]) -> T:
    """Call a function on a thread, for a caller who holds a lock meanwhile. A cancelled caller
    waits until it has ended: a thread cannot be cancelled, and somebody else would get the lock."""
    done = on_thread(function)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait({done})
        raise
