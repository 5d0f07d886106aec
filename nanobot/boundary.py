"""The one broad except, which keeps a failure in one part from affecting the others, and a helper
to get errors out of exception groups."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from nanobot.log_context import rarely_used_log
from nanobot.text import Sentence
from nanobot.troubles import TROUBLES

T = TypeVar("T")


class WantedToExit(RuntimeError):
    """Code called sys.exit, which is not allowed in a process that serves others."""


class CancelledWithin(RuntimeError):
    """Something that was awaited was cancelled, but not the task that awaits it."""


class Caught:
    """The result of a boundary; `error` is None if nothing failed. `late`: the call was stopped at
    its time limit."""

    error: Exception | None = None
    late = False


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raise the first error of an exception group instead of the group, so that a person can read
    it and a caller can catch it by its type."""
    try:
        yield
    except BaseExceptionGroup as group:
        inner: BaseException = group
        while isinstance(inner, BaseExceptionGroup):
            inner = inner.exceptions[0]
        raise inner from group


@contextmanager
def boundary(what: Sentence) -> Iterator[Caught]:
    """Catch any failure, including sys.exit, and log it with its traceback under `what`. It counts
    as a trouble with that name until the same work succeeds.

    Used around a run, a tool call, a channel and a trigger, and around code from other packages.
    A cancellation of this task and keyboard interrupts pass through. If the code within awaits
    something else that was cancelled, this is its failure; it would end the task silently.
    """
    caught = Caught()
    try:
        yield caught
        TROUBLES.over(what)
    except SystemExit as error:
        caught.error = WantedToExit(f"it called sys.exit({error.code!r})")
        TROUBLES.note(what, caught.error)
        _log(what, error, caught.error)
    except Exception as error:
        caught.error = error
        TROUBLES.note(what, error)
        _log(what, error, error)
    except BaseException as error:
        if not _cancelled_within(error):
            raise
        caught.error = CancelledWithin("something that it awaits was cancelled")
        TROUBLES.note(what, caught.error)
        _log(what, error, caught.error)


async def guarded(
    what: Sentence,
    call: Callable[[], Awaitable[T]],
    instead: Callable[[Caught], T],
    seconds: float | None = None,
    *answers: type[Exception],
) -> T:
    """The result of a call within a boundary, for at most so many seconds. If it fails, `instead`
    gives what counts, or raises. `answers` are errors that are no failures: they are raised."""
    import asyncio  # noqa: PLC0415 - see below

    limit, answer = asyncio.timeout(seconds), None
    with boundary(what) as caught:
        try:
            async with limit:
                return await call()
        except answers as error:
            answer = error
    if answer is not None:
        raise answer
    caught.late = limit.expired()
    return instead(caught)


def _cancelled_within(error: BaseException) -> bool:
    import asyncio  # noqa: PLC0415 - 20 ms, which `nanobot --help` does not spend

    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # a thread without an event loop
        return True
    return task is None or not task.cancelling()


def _log(what: str, error: BaseException, shown: Exception) -> None:
    rarely_used_log().opt(exception=error).error("{} failed: {}", what, shown)
