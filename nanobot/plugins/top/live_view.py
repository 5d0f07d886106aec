"""`nanobot top`: the activity of this home's gateway, redrawn every second or so."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nanobot.cli.output import harmless
from nanobot.config.loader import load
from nanobot.operations.rendering import Now
from nanobot.plugins.common.commands.output import Line, Style, document, drawn, say
from nanobot.plugins.common.control.client import call, unserved
from nanobot.plugins.top.moment import Moment, moment_text

_AILING = frozenset({"down", "wedged", "failed"})
_SLOW_SECONDS, _SLOW_MS = 30.0, 100.0


def show(home: Path, *, once: bool, as_json: bool, interval: float) -> None:
    """Draw until interrupted, or once without a terminal. Raises NotServed."""
    if once or as_json or not sys.stdout.isatty():
        moment = asyncio.run(_look(home, interval))
        if as_json:
            document(moment)
        else:
            say(*lines_of(moment))
        return
    asyncio.run(_watch(home, interval))


async def _watch(home: Path, interval: float) -> None:
    while True:
        lines = lines_of(await _look(home, interval))
        head = Line("nanobot top", "bold", f": {home}  (Ctrl-C ends)")
        _redraw([head, Line("", ""), *lines])
        await asyncio.sleep(interval)


def _redraw(lines: Sequence[Line]) -> None:
    """Replace the terminal's screen by these lines, cut to its size."""
    size = shutil.get_terminal_size((80, 24))
    cut = [_cut(line, size.columns - 1) for line in lines[: size.lines - 1]]
    shown = "\n".join(drawn(line, sys.stdout) for line in cut)
    sys.stdout.write(f"\x1b[H\x1b[J{shown}\n")
    sys.stdout.flush()


def _cut(line: Line, width: int) -> Line:
    """At most so many characters of a line, without line breaks."""
    text, rest = (" ".join(harmless(part).split("\n")) for part in (line.text, line.rest))
    return Line(text[:width], line.style, rest[: max(width - len(text), 0)])


async def _look(home: Path, seconds: float) -> Moment:
    raw = await call(home / "control.sock", "runs now", {"seconds": seconds})
    if raw is None:
        raise unserved(load({"NANOBOT_HOME": str(home)}, {}))
    return msgspec.json.decode(raw, type=Moment)


def lines_of(moment: Moment) -> list[Line]:
    """A moment in lines, each with a style for its first word."""
    lines = moment_text(moment, Now(moment.at, "UTC")).split("\n")
    words = [line.partition(" ") for line in lines]
    return [Line(word, _style(word, moment), f"{gap}{rest}") for word, gap, rest in words]


def _style(word: str, moment: Moment) -> Style:
    match word:
        case "Channels:":
            return "red" if _AILING & set(moment.channels.values()) else "green"
        case "Waiting:":
            return _by_size(moment.oldest_waiting or 0.0, _SLOW_SECONDS)
        case "Unsent:":
            return "red" if moment.dead else _by_size(moment.oldest_owed or 0.0, _SLOW_SECONDS)
        case "Event":
            return _by_size(moment.loop_lag_ms, _SLOW_MS)
        case "Store:":
            return _by_size(moment.store_ms, _SLOW_MS)
        case _:
            return "" if word == "-" else "dim"


def _by_size(value: float, slow: float) -> Style:
    """Green, yellow from `slow` on, red at ten times as much."""
    return "red" if value >= 10 * slow else "yellow" if value >= slow else "green"
