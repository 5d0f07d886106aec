"""Reading on a thread of its own: a disk that hangs keeps nobody else waiting, not even the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from nanobot.errors import NanobotError

T = TypeVar("T")


async def aside(function: Callable[[], T], name: str) -> T:
    """What `function` returns or raises: OSError, ValueError or a NanobotError.

    The thread is nobody's to wait for: a call that never comes back does not hold up the exit of
    the process, as one in a pool would."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else result())
        except RuntimeError:  # the loop has ended meanwhile
            return

    def work() -> None:
        try:
            result = function()
        except (OSError, ValueError, NanobotError) as error:
            caught = error
            tell(lambda: done.set_exception(caught))
        else:
            tell(lambda: done.set_result(result))

    threading.Thread(target=work, name=name, daemon=True).start()
    return await done
