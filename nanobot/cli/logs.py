"""Where the log goes: standard error, coloured only on a terminal; it never contains secrets."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from loguru import logger

from nanobot.cli.output import LogStream, harmless
from nanobot.seam.installed import Interface, provided

if TYPE_CHECKING:
    from loguru import Record

    from nanobot.bus.core import Bus

Form: TypeAlias = "Callable[[Record], str]"
"""Gives the line of a record, in which loguru fills in its fields."""
LogRuns: TypeAlias = "Callable[[Bus], Awaitable[None]]"
"""Logs the runs of a gateway until it is cancelled."""
GATEWAY_LOG: Interface[Callable[[Path, Mapping[str, str]], LogRuns]] = Interface("gateway_log")
"""Begins to keep the log of the gateway of a home, beside standard error."""
JSON_LINES: Interface[Form] = Interface("json_lines")
_LINE = "<dim>{time:HH:mm:ss}</dim> <level>{level: <7}</level> {message}\n{exception}"


def to_stderr(environ: Mapping[str, str], level: str, log_format: str = "") -> None:
    """Log to standard error from now on, without values of variables in tracebacks. With
    `log_format` "", NANOBOT_LOG_FORMAT decides.
    """
    logger.remove()
    wanted = log_format or environ.get("NANOBOT_LOG_FORMAT", "")
    if wanted == "json" and (as_json := provided(JSON_LINES)) is not None:
        add(LogStream(colour=False), environ, level, as_json)
        return
    colour = sys.stderr.isatty() and not environ.get("NO_COLOR")
    add(LogStream(colour=colour), environ, level, without_control(_LINE), colorize=colour)


def add(
    sink: Any, environ: Mapping[str, str], level: str, form: Form | str, *, colorize: bool = False
) -> None:
    """Log to `sink` from the level that NANOBOT_LOG names, or this one, up; without values of
    variables in tracebacks."""
    least = environ.get("NANOBOT_LOG", level).upper()
    logger.add(sink, level=least, format=form, colorize=colorize, diagnose=False, backtrace=False)


def without_control(line: str) -> Form:
    """That form of a line, whose message cannot control a terminal."""

    def form(record: Record) -> str:
        record["message"] = harmless(record["message"])
        return line

    return form
