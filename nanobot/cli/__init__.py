"""The command line. `main` is the entry point; nothing heavy is imported before it is needed."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line. What it makes is for its user alone: keys and conversations."""
    os.umask(0o077)
    if sys.argv[1:] == ["gateway"]:
        # It stays for weeks, and so would what reads commands: typer and, under it, pydantic are
        # 14 MB and 0.25 s.
        from nanobot.cli.serve import gateway  # noqa: PLC0415 - loads the whole of nanobot

        gateway(os.environ)
        return
    from nanobot.cli.commands import app  # noqa: PLC0415 - so that importing the package is free

    app(obj=os.environ)
