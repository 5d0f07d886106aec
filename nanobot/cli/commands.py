"""The commands besides `nanobot gateway`, which the plugin `command_line` has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nanobot.cli.exit_codes import errors
from nanobot.errors import UsageError
from nanobot.seam.installed import Interface, provided
from nanobot.system import DISTRIBUTION

COMMANDS: Interface[Callable[[Mapping[str, str], Sequence[str]], None]] = Interface("command_line")
"""Performs the command of these words, and exits."""
_MISSING = (
    "only `nanobot gateway [--role ROLE]...` and `nanobot --version` are there: all other commands "
    f"need the plugin command_line, which cannot be loaded. Install {DISTRIBUTION} again to get it "
    "back."
)


def run(environ: Mapping[str, str], words: Sequence[str], undecoded: str | None) -> None:
    """Perform the command of these words. One that is not UTF-8 (`undecoded`) is refused, and all
    are if the plugin cannot be loaded; the log says why. Raises SystemExit."""
    perform = None if undecoded is not None else provided(COMMANDS)
    if perform is not None:
        perform(environ, words)
        return
    with errors():
        raise UsageError(_MISSING if undecoded is None else f"{undecoded!r} is not UTF-8")
