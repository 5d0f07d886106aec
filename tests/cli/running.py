"""nanobot's commands as a person or a script runs them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.doubles.terminal import PATIENCE
from tests.process.harness import World

COMMAND = (sys.executable, "-c", "from nanobot.cli import main; main()")


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


def environ_of(home: Path, **more: str) -> dict[str, str]:
    """An environment with nothing of ours but the paths."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return kept | {"TZ": "UTC", "NANOBOT_HOME": str(home)} | more


async def run(environ: Mapping[str, str], *arguments: str) -> Ran:
    """Run a command without a terminal, and wait for its end."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *arguments,
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Ran(process.returncode or 0, out.decode(), err.decode())


async def run_in(world: World, *arguments: str, **environ: str) -> Ran:
    """Run a command in a world's home, quickly."""
    ended = await world.run(*arguments, stdin=b"", **environ)
    return Ran(ended.code, ended.output, ended.errors)
