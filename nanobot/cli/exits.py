"""How commands end: errors of ours with their exit code and one clear line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from nanobot.errors import NanobotError

INTERRUPTED = 130


@contextmanager
def errors() -> Iterator[None]:
    """Errors of ours end with their exit code and one clear line, an interrupt with 130."""
    try:
        yield
    except NanobotError as error:
        typer.echo(f"nanobot: {error}", err=True)
        raise typer.Exit(error.exit_code) from None
    except (KeyboardInterrupt, EOFError):
        typer.echo("", err=True)
        raise typer.Exit(INTERRUPTED) from None
