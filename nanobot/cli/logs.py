"""Where the log goes: standard error, coloured only on a terminal; it never contains secrets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from loguru import logger

from nanobot.cli.json_log import as_json
from nanobot.cli.output import LogStream, harmless

if TYPE_CHECKING:
    from loguru import Record

_LINE = "<dim>{time:HH:mm:ss}</dim> <level>{level: <7}</level> {message}\n{exception}"


def to_stderr(environ: Mapping[str, str], level: str, log_format: str = "") -> None:
    """Log to standard error from now on, without values of variables in tracebacks. With
    `log_format` "", NANOBOT_LOG_FORMAT decides.
    """
    logger.remove()
    least = environ.get("NANOBOT_LOG", level).upper()
    if (log_format or environ.get("NANOBOT_LOG_FORMAT", "")) == "json":
        stream = LogStream(colour=False)
        logger.add(stream, level=least, format=as_json, diagnose=False, backtrace=False)
        return
    colour = sys.stderr.isatty() and not environ.get("NO_COLOR")
    logger.add(
        LogStream(colour=colour),
        level=least,
        format=_format,
        colorize=colour,
        diagnose=False,
        backtrace=False,
    )


def to_file(environ: Mapping[str, str], level: str, write: Callable[[str], None]) -> None:
    """Also log to a file of the home, without colours and with the date."""
    least = environ.get("NANOBOT_LOG", level).upper()
    logger.add(write, level=least, format=_dated, diagnose=False, backtrace=False)


def _dated(record: Record) -> str:
    record["message"] = harmless(record["message"])
    return "{time:YYYY-MM-DD HH:mm:ss} {level: <7} {message}\n{exception}"


def _format(record: Record) -> str:
    record["message"] = harmless(record["message"])
    return _LINE


@contextmanager
def to_function(
    environ: Mapping[str, str], level: str, write: Callable[[str], None]
) -> Iterator[None]:
    """Within the context, the log goes to a function (from any thread): standard error is a
    person's screen.
    """
    logger.remove()
    least = environ.get("NANOBOT_LOG", level).upper()
    logger.add(write, level=least, format="{level}: {message}", diagnose=False, backtrace=False)
    try:
        yield
    finally:
        to_stderr(environ, level)
