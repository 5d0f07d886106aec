"""A separate process for work on untrusted material: without secrets, and easily stopped."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO
from weakref import WeakKeyDictionary

import msgspec

from nanobot.plugins.common.processes import end

# Each may use worker_limits.MEMORY_BYTES, and there may be many runs.
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
    """Run `python -m module JOB` with `file` as its standard input; at the end it is killed, if it
    is still running, with everything it started. It inherits the descriptors of `keep` under the
    same numbers. `errors`: its standard error is a pipe too; otherwise it is discarded. At most
    PLACES run at once; others wait.
    """
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
        # Modules are not loaded from its working folder, where anybody could put them.
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
        await end(process)
