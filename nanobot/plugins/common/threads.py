"""Calls on threads of their own: what hangs there delays nothing else, not even the exit.

The threads of `asyncio.to_thread` are few, and all chats share them: six calls that wait for a
network would keep every file and every long answer waiting.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from nanobot.boundary import boundary
from nanobot.errors import NanobotError

T = TypeVar("T")


class Places:
    """How many threads there may be for something. The thread of a caller who has given up keeps
    its place until it ends."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}

    def here(self) -> asyncio.Semaphore:
        """The free ones, on this event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._free:
            self._free = {loop: asyncio.Semaphore(self._most)}
        return self._free[loop]


async def aside(function: Callable[[], T], name: str, places: Places | None = None) -> T:
    """The result of `function`; OSError, ValueError and NanobotError are passed on.

    Nothing waits for the thread: unlike in a thread pool, a call that never returns does not delay
    the exit of the process. With `places` it waits for one, as long as its caller does.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    free = asyncio.Semaphore() if places is None else places.here()
    await free.acquire()

    def ended(tell: Callable[[], None]) -> None:
        free.release()
        if not done.done():
            tell()

    def work() -> None:
        tell = _outcome(function, name, done)
        with suppress(RuntimeError):  # the loop has ended in the meantime
            loop.call_soon_threadsafe(ended, tell)

    try:
        threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True).start()
    except RuntimeError:  # there can be no more threads
        free.release()
        raise
    return await done


def _outcome(function: Callable[[], T], name: str, done: asyncio.Future[T]) -> Callable[[], None]:
    """Call the function; returns what tells the future how that ended."""
    results, expected = list[T](), list[Exception]()
    with boundary(name) as caught:
        try:
            results.append(function())
        except (OSError, ValueError, NanobotError) as error:
            expected.append(error)
    failure = caught.error or next(iter(expected), None)
    if failure is None:
        return partial(done.set_result, results[0])
    return partial(done.set_exception, failure)
