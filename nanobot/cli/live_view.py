"""`nanobot top`: the activity of this home's gateway, redrawn every second or so."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from nanobot.cli.exit_codes import errors
from nanobot.cli.output import document, redraw, say
from nanobot.config.loader import home_of
from nanobot.errors import NotServed
from nanobot.operations.now import Moment, moment_text
from nanobot.operations.rendering import Now
from nanobot.server.client import call


def top(environ: Mapping[str, str], *, once: bool, as_json: bool, interval: float) -> None:
    """Draw until interrupted, or once without a terminal. See `errors` for other ends."""
    with errors():
        home = home_of(environ)
        if once or as_json or not sys.stdout.isatty():
            moment = asyncio.run(_look(home))
            if as_json:
                document(moment)
            else:
                say(_text(moment))
            return
        asyncio.run(_watch(home, interval))


async def _watch(home: Path, interval: float) -> None:
    while True:
        redraw(f"nanobot top: {home}  (Ctrl-C ends)\n\n{_text(await _look(home))}")
        await asyncio.sleep(interval)


async def _look(home: Path) -> Moment:
    raw = await call(home / "control.sock", "runs now", {})
    if raw is None:
        raise NotServed(f"no nanobot serves {home}: start `nanobot gateway` first")
    return msgspec.json.decode(raw, type=Moment)


def _text(moment: Moment) -> str:
    return moment_text(moment, Now(moment.at, "UTC"))
