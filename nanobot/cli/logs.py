"""Where the log goes: standard error, coloured only on a terminal; secrets are never in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from loguru import logger

_FORMAT = "<dim>{time:HH:mm:ss}</dim> <level>{level: <7}</level> {message}"


def to_stderr(environ: Mapping[str, str], level: str) -> None:
    """Log to standard error from now on, without values of variables in traces."""
    logger.remove()
    wanted = environ.get("NANOBOT_LOG", level).upper()
    logger.add(sys.stderr, level=wanted, format=_FORMAT, diagnose=False, backtrace=False)


@contextmanager
def to_function(
    environ: Mapping[str, str], level: str, write: Callable[[str], None]
) -> Iterator[None]:
    """Within, the log goes to a function (of any thread); standard error is somebody's screen."""
    logger.remove()
    wanted = environ.get("NANOBOT_LOG", level).upper()
    logger.add(write, level=wanted, format="{level}: {message}", diagnose=False, backtrace=False)
    try:
        yield
    finally:
        to_stderr(environ, level)
