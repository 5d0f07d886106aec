"""nanobot's commands as a person or a script runs them."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.doubles.terminal import PATIENCE
from tests.process.harness import Nanobot, World, reader_of
from tests.process.nest import the_nest


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
    complaints, complaining = os.pipe()
    try:
        process = await launched(environ, arguments, Path.cwd(), complaining)
    finally:
        os.close(complaining)
    try:
        async with asyncio.timeout(PATIENCE):
            err = await (await reader_of(complaints)).read()
            out = await process.output.read()
            code = await process.ended()
    finally:
        await process.kill()
    return Ran(code, out.decode(), err.decode())


async def launched(
    environ: Mapping[str, str], arguments: Sequence[str], folder: Path, stderr: int | None = None
) -> Nanobot:
    """Start a command without a terminal; what it says on stderr is lost unless that is given."""
    silence = os.open(os.devnull, os.O_RDWR)
    out, saying = os.pipe()
    try:
        streams = (silence, saying, silence if stderr is None else stderr)
        egg = the_nest().start(arguments, environ, folder, streams)
    finally:
        os.close(silence)
        os.close(saying)
    return Nanobot(egg, await reader_of(out))


async def run_in(world: World, *arguments: str, **environ: str) -> Ran:
    """Run a command in a world's home, quickly."""
    ended = await world.run(*arguments, stdin=b"", **environ)
    return Ran(ended.code, ended.output, ended.errors)
