"""The log while standard error is a person's screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from loguru import logger

from nanobot.cli.logs import add, to_stderr


@contextmanager
def to_function(
    environ: Mapping[str, str], level: str, write: Callable[[str], None]
) -> Iterator[None]:
    """Within the context, the log goes to a function (from any thread)."""
    logger.remove()
    add(write, environ, level, "{level}: {message}")
    try:
        yield
    finally:
        to_stderr(environ, level)
