"""The command line. `main` is the entry point; nothing heavy is imported before it is needed."""

from __future__ import annotations

import gc
import os
import sys

from nanobot import __version__
from nanobot.cli import streams

TYPE_CHECKING = False  # as that of `typing`, which `nanobot --version` does not load
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_USAGE = 2
_INTERRUPTED = 130
_NO_TEXTS = "nanobot: start Python without -OO (PYTHONOPTIMIZE=2), which drops texts\n"
USUAL_GARBAGE = (700, 10, 10)
"""When garbage is collected by what lasts: Python's own default."""


def main() -> None:
    """Run the command line. Files it creates are private to its user: they hold keys and
    conversations.
    """
    os.umask(0o077)
    streams.prepare()
    try:
        _run(streams.decode(sys.argv))
    except KeyboardInterrupt:  # while modules are loaded: afterwards the commands handle it
        raise SystemExit(_INTERRUPTED) from None
    except OSError:
        if (why := streams.lost()) is None:
            raise
        sys.stderr.write(f"nanobot: the output cannot be written: {why}\n")
        raise SystemExit(1) from None


def _run(undecoded: str | None) -> None:
    if sys.argv[1:] in (["--version"], ["version"]):
        # Scripts run it often, and loading the command parser takes a quarter of a second.
        sys.stdout.write(f"nanobot {__version__}\n")
        sys.stdout.flush()
        return
    # Almost nothing of what is loaded is ever garbage, and the looks for it took 110 ms of a
    # gateway's start and 15 ms of `--help`; see serve._ready and commands._options for the time
    # after it.
    gc.set_threshold(500_000)
    if main.__doc__ is None:
        # Help texts and descriptions of tools are docstrings.
        sys.stderr.write(_NO_TEXTS)
        raise SystemExit(_USAGE)
    roles = _roles_of_gateway(sys.argv[1:])
    if roles is not None and undecoded is None:
        # It runs for weeks, and the command parser would stay loaded: typer and, under it, pydantic
        # are 14 MB and 0.25 s.
        serve_gateway(os.environ, roles)
        return
    from nanobot.cli.commands import run  # noqa: PLC0415 - what a gateway does not need

    try:
        run(os.environ, sys.argv[1:], undecoded)
    finally:
        # At exit Python would go through all objects once more, which took 0.3 s.
        gc.freeze()


def serve_gateway(environ: Mapping[str, str], roles: Sequence[str]) -> None:
    """Run the gateway, or the roles of these names, until it is stopped."""
    from nanobot.cli.serve import gateway  # noqa: PLC0415 - the whole of nanobot

    gateway(environ, roles)


def _roles_of_gateway(arguments: list[str]) -> list[str] | None:
    """The roles of a plain `nanobot gateway [--role ROLE]...`; None: another command."""
    if arguments[:1] != ["gateway"] or len(arguments) % 2 == 0:
        return None
    pairs = list(zip(arguments[1::2], arguments[2::2], strict=True))
    return [role for _, role in pairs] if all(name == "--role" for name, _ in pairs) else None
