"""The command line. `main` is the entry point; nothing heavy is imported before it is needed."""

from __future__ import annotations

import os


def main() -> None:
    """Run the command line."""
    from nanobot.cli.commands import app  # noqa: PLC0415 - so that importing the package is free

    app(obj=os.environ)
