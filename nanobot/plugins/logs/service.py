"""What is logged of a gateway besides the lines on standard error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nanobot.cli.logs import LogRuns, add, without_control
from nanobot.plugins.common.gateway_log import log_file_of
from nanobot.plugins.logs.log_file import LogFile, kept_elsewhere
from nanobot.plugins.logs.run_log import log_runs

_DATED_LINE = "{time:YYYY-MM-DD HH:mm:ss} {level: <7} {message}\n{exception}"


def begin(home: Path, environ: Mapping[str, str]) -> LogRuns:
    """Log to the file of a home from now on, without colours and with the date, if standard error
    is not stored already. Gives what logs the runs of a gateway."""
    file = log_file_of(home)
    if not kept_elsewhere(environ, file):
        add(LogFile(file).write, environ, "INFO", without_control(_DATED_LINE))
    return log_runs
