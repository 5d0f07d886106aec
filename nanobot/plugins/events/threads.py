"""Reading on a separate thread: a disk that hangs delays nothing else, not even the exit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from nanobot.boundary import boundary
from nanobot.errors import NanobotError

T = TypeVar("T")


async def aside(function: Callable[[], T], name: str) -> T:
    """The result of `function`; OSError, ValueError and NanobotError are passed on.

    Nothing waits for the thread: unlike in a thread pool, a call that never returns does not delay
    the exit of the process.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else result())
        except RuntimeError:  # the loop has ended in the meantime
            return

    def work() -> None:
        results, expected = list[T](), list[Exception]()
        with boundary(name) as caught:
            try:
                results.append(function())
            except (OSError, ValueError, NanobotError) as error:
                expected.append(error)
        failure = caught.error or next(iter(expected), None)
        if failure is None:
            tell(lambda: done.set_result(results[0]))
        else:
            tell(partial(done.set_exception, failure))

    threading.Thread(target=work, name=name, daemon=True).start()
    return await done
