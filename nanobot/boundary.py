"""The one broad except: where somebody else's failure must not become everybody's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from loguru import logger


class Caught:
    """What came out of a boundary; `error` is None when nothing went wrong."""

    error: Exception | None = None


@contextmanager
def boundary(what: str) -> Iterator[Caught]:
    """Contain any failure within, logged with its trace under `what`.

    Used around a run, a tool call, a channel and a trigger, and nowhere else. Cancellation and
    the end of the process pass through.
    """
    caught = Caught()
    try:
        yield caught
    except Exception as error:
        caught.error = error
        logger.opt(exception=error).error("{} failed: {}", what, error)
