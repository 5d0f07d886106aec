"""Shared by the checks for authors: a broken promise is an AssertionError with an explanation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from nanobot.plugins.kit.machine import PATIENCE


def that(holds: object, promise: str) -> None:
    """Raises AssertionError with the promise if it does not hold."""
    if not holds:
        raise AssertionError(promise)


async def soon(holds: Callable[[], bool], promise: str) -> None:
    """Wait for an event that sends no notification."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not holds():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(promise) from None


async def ends_when_cancelled(
    work: Coroutine[Any, Any, object], what: str, patience: float = PATIENCE
) -> None:
    """Start it, cancel it while it is working, and see it end."""

    async def run() -> None:
        await work

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(run(), name=what)
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=patience)
        that(done, f"{what} ends when it is cancelled")
