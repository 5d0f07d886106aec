"""`nanobot dashboard`: open the page of the running gateway in the browser."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from collections.abc import Mapping
from typing import Annotated

import msgspec

from nanobot.config.loader import home_of, load
from nanobot.plugins.common.commands.output import say
from nanobot.plugins.common.control.client import call, unserved
from nanobot.plugins.common.faces import Command, Option
from nanobot.plugins.common.page_link import PageLink


def commands() -> list[Command]:
    """The command."""
    examples = ("nanobot dashboard", "nanobot dashboard --name Anna --show")
    return [Command(name="dashboard", run=dashboard, examples=examples)]


def dashboard(
    environ: Mapping[str, str],
    *,
    show: Annotated[bool, Option(about="Print the link without opening it.")] = False,
    name: Annotated[str, Option(about="Your name, shown in conversations.")] = "",
) -> None:
    """Open the page of the gateway that runs here; without a browser its link is printed."""
    home = home_of(environ)
    raw = asyncio.run(call(home / "control.sock", "web link", {"name": name}))
    if raw is None:
        raise unserved(load(environ, {}))
    link = msgspec.json.decode(raw, type=PageLink)
    if not show and _has_windows(environ) and webbrowser.open(link.url):
        say("The page was opened in the browser.")
    else:
        say(link.url, f"(opens the page once, within {link.seconds / 60:.0f} minutes)")


def _has_windows(environ: Mapping[str, str]) -> bool:
    """Whether a graphical browser would open: a text browser would take over the terminal."""
    if sys.platform == "darwin":
        return True
    return any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
