"""A process of its own for work on strangers' material: without secrets, and easily stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import IO
from weakref import WeakKeyDictionary

import msgspec

# Each may take limits.MEMORY_BYTES, and there may be many runs.
PLACES = 4
_places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@asynccontextmanager
async def working(
    module: str,
    job: msgspec.Struct,
    file: int | IO[bytes] = DEVNULL,
    *,
    keep: tuple[int, ...] = (),
    errors: bool = False,
) -> AsyncIterator[Process]:
    """Run `python -m module JOB` with `file` as its standard input; killed at the end, if it still
    runs, with all it started. It has the descriptors of `keep` under the same numbers. `errors`:
    its standard error is a pipe too, else it is dropped. No more than PLACES run at once, others
    wait."""
    loop = asyncio.get_running_loop()
    async with (
        _places.setdefault(loop, asyncio.Semaphore(PLACES)),
        _started(module, job, file, keep, errors=errors) as process,
    ):
        yield process


@asynccontextmanager
async def _started(
    module: str,
    job: msgspec.Struct,
    file: int | IO[bytes],
    keep: tuple[int, ...],
    *,
    errors: bool,
) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        # Not from the folder it is started in: modules there may be anybody's.
        *(sys.executable, "-P", "-m", module, msgspec.json.encode(job).decode()),
        stdin=file,
        stdout=PIPE,
        stderr=PIPE if errors else DEVNULL,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
        pass_fds=keep,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        # A killed process keeps nobody waiting, and one that nobody waits for stays a zombie.
        await process.wait()
