"""Where the log goes: standard error, coloured only on a terminal; it never contains secrets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from loguru import logger

from nanobot.cli.json_log import as_json
from nanobot.cli.output import LogStream, harmless

if TYPE_CHECKING:
    from loguru import Record

_LINE = "<dim>{time:HH:mm:ss}</dim> <level>{level: <7}</level> {message}\n{exception}"
_DATED_LINE = "{time:YYYY-MM-DD HH:mm:ss} {level: <7} {message}\n{exception}"


def to_stderr(environ: Mapping[str, str], level: str, log_format: str = "") -> None:
    """Log to standard error from now on, without values of variables in tracebacks. With
    `log_format` "", NANOBOT_LOG_FORMAT decides.
    """
    logger.remove()
    if (log_format or environ.get("NANOBOT_LOG_FORMAT", "")) == "json":
        _add(LogStream(colour=False), environ, level, as_json)
        return
    colour = sys.stderr.isatty() and not environ.get("NO_COLOR")
    _add(LogStream(colour=colour), environ, level, _harmless(_LINE), colorize=colour)


def to_file(environ: Mapping[str, str], level: str, write: Callable[[str], None]) -> None:
    """Also log to a file of the home, without colours and with the date."""
    _add(write, environ, level, _harmless(_DATED_LINE))


@contextmanager
def to_function(
    environ: Mapping[str, str], level: str, write: Callable[[str], None]
) -> Iterator[None]:
    """Within the context, the log goes to a function (from any thread): standard error is a
    person's screen.
    """
    logger.remove()
    _add(write, environ, level, "{level}: {message}")
    try:
        yield
    finally:
        to_stderr(environ, level)


def _add(
    sink: Any, environ: Mapping[str, str], level: str, form: Any, *, colorize: bool = False
) -> None:
    """Log to `sink` from the level that NANOBOT_LOG names, or this one, up; without values of
    variables in tracebacks."""
    least = environ.get("NANOBOT_LOG", level).upper()
    logger.add(sink, level=least, format=form, colorize=colorize, diagnose=False, backtrace=False)


def _harmless(line: str) -> Callable[[Record], str]:
    """That form of a line, whose message cannot control a terminal."""

    def form(record: Record) -> str:
        record["message"] = harmless(record["message"])
        return line

    return form
