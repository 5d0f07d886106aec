"""`python -m benchmarks.profile turn|flood PICTURE.svg`: where the CPU time of turns goes.

The gateway is sampled (see sampled) while people talk to it, as in the scenarios of these names.
The picture is a flame graph; standard output shows the shares of its parts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.flames import Flame, drawn
from benchmarks.stage import ROOT, Effort, Subject, open_stage

_TALKS = {"turn": (1, 100), "flood": (200, 5)}
"""How many people talk at once, and how much each says."""
_TURNS = 3_000
_PAUSE = 0.02
_WRITE_SECONDS = 3.0
_MOST_NAMED = 30
_PARTS = {
    "the model's HTTP": ("providers/", "aiohttp/"),
    "Telegram": ("telegram/",),
    "the store": ("store/", "journal/", "database/"),
    "memory": ("plugins/memory", "memory/"),
    "the model's context": ("agent/context", "agent/model_calls", "recorded/"),
    "the log file": ("loguru/", "logs/run_log", "commands/output", "cli/output"),
    "sending": ("nanobot/channels/",),
    "the event loop": ("asyncio/",),
}
"""What a stack is counted for: the first part that one of its innermost functions belongs to."""


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=list(_TALKS))
    parser.add_argument("picture", type=Path, help="the SVG file to write")
    parser.add_argument("--turns", type=int, default=_TURNS)
    chosen = parser.parse_args()
    stacks, turns = asyncio.run(_sampled(chosen.name, chosen.turns))
    root = Flame("all threads")
    for stack, spent in stacks.items():
        root.add(stack.split(";"), spent)
    title = f"{chosen.name}: {root.spent / turns:.2f} ms of CPU a turn, of {turns:,} turns"
    chosen.picture.write_text(drawn(root, title, turns), "utf-8")
    print(title)
    own: dict[str, float] = {}
    for stack, spent in stacks.items():
        name = stack.rpartition(";")[2]
        own[name] = own.get(name, 0.0) + spent
    for name, spent in sorted(own.items(), key=lambda one: -one[1])[:_MOST_NAMED]:
        print(f"{100 * spent / root.spent:5.1f} %  {spent / turns:6.3f} ms  in {name}")
    for part, spent in sorted(_shares(stacks).items(), key=lambda one: -one[1]):
        print(f"{100 * spent / root.spent:5.1f} %  {spent / turns:6.3f} ms  {part}")
    return 0


async def _sampled(name: str, turns: int) -> tuple[Mapping[str, float], int]:
    crowd, each = _TALKS[name]
    times = max(turns // (crowd * each), 1)
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    found = folder.with_suffix(".stacks")
    async with open_stage(folder, Effort(), lambda text: print(text, file=sys.stderr)) as stage:
        stage.script = (str(ROOT / "benchmarks" / "sampled.py"), str(found))
        async with stage.gateway(Subject.NANOBOT) as gateway:
            await stage.converse([1], 20)
            os.kill(gateway.pid, signal.SIGUSR1)
            for number in range(times):
                first = 2 + number * crowd  # nobody's history grows for long
                chats = range(first, first + crowd)
                await stage.converse(chats, each, pause=_PAUSE if crowd == 1 else 0.0)
            os.kill(gateway.pid, signal.SIGUSR2)
            await asyncio.sleep(_WRITE_SECONDS)
    stacks: dict[str, float] = {}
    for line in found.read_text("utf-8").splitlines():
        stack, _, spent = line.rpartition(" ")
        stacks[stack] = float(spent)
    found.unlink()
    return stacks, times * crowd * each


def _shares(stacks: Mapping[str, float]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for stack, spent in stacks.items():
        part = _part(stack)
        shares[part] = shares.get(part, 0.0) + spent
    return shares


def _part(stack: str) -> str:
    for name in reversed(stack.split(";")):
        for part, places in _PARTS.items():
            if part != "the event loop" and any(place in name for place in places):
                return part
    return "the event loop" if "asyncio/" in stack else "the rest"


if __name__ == "__main__":
    sys.exit(main())
