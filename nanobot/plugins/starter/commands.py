"""`nanobot plugins new`: a package with an example plugin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from nanobot.plugins.common.commands.output import say
from nanobot.plugins.common.faces import Command, Option
from nanobot.plugins.starter.template import write_plugin

_Name = Annotated[str, Option(about="Its name: letters, digits, _.", words=True, metavar="NAME")]


def new(_: Mapping[str, str], *, name: _Name) -> None:
    """Write a package with an example plugin and tests into a new folder here."""
    folder = write_plugin(name, Path.cwd())
    say(f"Written: {folder}", f"Install it: pip install {folder}")


def commands() -> list[Command]:
    """See seam.plugin.Plugin.commands."""
    return [Command(name="plugins new", run=new, examples=("nanobot plugins new tea",))]
