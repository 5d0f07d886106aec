"""A program that is ended is gone, with its pipes, whatever it left behind."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from asyncio.subprocess import PIPE, Process

import pytest

from nanobot.plugins.common.processes import end

STUBBORN = "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
LEAVING = "import subprocess; subprocess.Popen(['sleep', '30'], start_new_session=True);"
WAITING = "print('on', flush=True); time.sleep(60)"
SECONDS = 10.0
"""Far more than a killed program takes, far less than what it left behind lasts."""


async def started(script: str) -> Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", STUBBORN + script + WAITING),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"on\n"
    return process


@pytest.mark.process
@pytest.mark.parametrize("script", ["", LEAVING], ids=["alone", "with what it left behind"])
def test_its_end_does_not_wait_for_those_who_hold_its_pipes_and_leaves_nothing_open(
    script: str,
) -> None:
    async def run() -> int | None:
        process = await started(script)
        async with asyncio.timeout(SECONDS):
            await end(process)
        return process.returncode

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What is left open shows when it is collected, after its loop was closed. 255: a transport
        # that is closed looks whether its program has ended, and its watcher then comes too late.
        assert asyncio.run(run()) in (-9, 255)
        gc.collect()


def test_one_that_has_ended_by_itself_is_not_killed() -> None:
    async def run() -> int | None:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "exit(3)", stdout=PIPE)
        await process.wait()
        await end(process)
        return process.returncode

    assert asyncio.run(run()) == 3
