"""The ends of started programs."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from contextlib import suppress

DYING_SECONDS = 5.0
"""For so long the end of a killed program is waited for."""


def kill(process: Process) -> None:
    """Kill a program with its process group. If that is bwrap, the kernel then kills its process
    namespace, whatever signals its members ignore.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def end(process: Process) -> None:
    """Kill a program with its process group, close our ends of its pipes, and wait until it is
    gone. (Not forever: a process stuck in the kernel does not die.)
    """
    kill(process)
    # The pipes are closed first: a process that left the group may hold their other ends open, and
    # the wait would then not end. asyncio offers no public way to close them all.
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001
    with suppress(TimeoutError):
        async with asyncio.timeout(DYING_SECONDS):
            await process.wait()
