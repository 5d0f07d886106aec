"""Where errors end: the one broad except, so that somebody else's failure does not become
everybody's, and the way out of groups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from loguru import logger

from nanobot.troubles import TROUBLES


class WantedToExit(RuntimeError):
    """Something called sys.exit, which is nobody's to do in a process that serves others."""


class Caught:
    """What came out of a boundary; `error` is None when nothing went wrong."""

    error: Exception | None = None


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raise what comes out of task groups within as the first error in them: a person can read one
    error, and a caller can catch it by its type."""
    try:
        yield
    except BaseExceptionGroup as group:
        inner: BaseException = group
        while isinstance(inner, BaseExceptionGroup):
            inner = inner.exceptions[0]
        raise inner from group


@contextmanager
def boundary(what: str) -> Iterator[Caught]:
    """Contain any failure within, logged with its trace under `what`; sys.exit is one. It is a
    trouble of that name until the same work succeeds.

    Used around a run, a tool call, a channel and a trigger, and around what other packages bring.
    Cancellation and an interruption by the keyboard pass through.
    """
    caught = Caught()
    try:
        yield caught
        TROUBLES.over(what)
    except SystemExit as error:
        caught.error = WantedToExit(f"it called sys.exit({error.code!r})")
        TROUBLES.note(what, caught.error)
        logger.opt(exception=error).error("{} failed: {}", what, caught.error)
    except Exception as error:
        caught.error = error
        TROUBLES.note(what, error)
        logger.opt(exception=error).error("{} failed: {}", what, error)
