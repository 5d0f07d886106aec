"""A guarded call gives its result, or what counts instead, and says which it was."""

from __future__ import annotations

import asyncio

import pytest

from nanobot.boundary import Caught, guarded
from nanobot.errors import ToolError
from nanobot.troubles import TROUBLES

WHAT = "the call of this test"


def instead(caught: Caught) -> str:
    return f"{type(caught.error).__name__}, {'late' if caught.late else 'in time'}"


def noted() -> bool:
    return any(trouble.what == WHAT for trouble in TROUBLES.recent())


async def test_a_success_ends_the_trouble() -> None:
    async def fails() -> str:
        raise ZeroDivisionError

    async def fine() -> str:
        return "fine"

    assert await guarded(WHAT, fails, instead) == "ZeroDivisionError, in time"
    assert noted()
    assert await guarded(WHAT, fine, instead, 5.0) == "fine"
    assert not noted()


async def test_one_that_takes_too_long_is_late_and_one_that_waits_for_another_is_not() -> None:
    async def hangs() -> str:
        await asyncio.Event().wait()
        return ""

    async def gives_up() -> str:
        async with asyncio.timeout(0.0):
            return await hangs()

    assert await guarded(WHAT, hangs, instead, 0.01) == "TimeoutError, late"
    assert await guarded(WHAT, gives_up, instead, 20.0) == "TimeoutError, in time"


async def test_an_error_that_is_an_answer_is_raised_and_is_no_trouble() -> None:
    async def refuses() -> str:
        raise ToolError("not that")

    with pytest.raises(ToolError, match="not that"):
        await guarded(WHAT, refuses, instead, 5.0, ToolError)
    assert not noted()
    assert await guarded(WHAT, refuses, instead) == "ToolError, in time"


async def test_a_cancelled_task_ends() -> None:
    async def hangs() -> str:
        await asyncio.Event().wait()
        return ""

    task = asyncio.create_task(guarded(WHAT, hangs, instead, 20.0))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
