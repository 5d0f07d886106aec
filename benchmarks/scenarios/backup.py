"""A backup of a store that is years old, taken while people talk with the gateway."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.filled import fill_home
from benchmarks.filled_rows import Size
from benchmarks.stage import BenchmarkError, Stage, Subject, environment

PEOPLE = range(20_001, 20_021)
_LIMIT_SECONDS = 120.0


async def backup(stage: Stage, subject: Subject) -> Sample:
    """`nanobot db backup` of a store of 100,000 messages while twenty people talk without a pause:
    seconds it takes, MB it copies, and the longest answer meanwhile and before."""
    home = stage.home()
    await fill_home(home, Size(*stage.effort.filled))
    async with stage.gateway(subject, home):
        before = await stage.converse(chats=list(PEOPLE), each=stage.effort.crowd_says)
        taking = asyncio.create_task(_back_up(home))
        spans = []
        while not taking.done():
            talk = await stage.converse(chats=list(PEOPLE), each=1)
            spans += talk.milliseconds
        seconds = await taking
    size = (home / "kept.db").stat().st_size
    return {
        "seconds": seconds,
        "copied": size / 1e6,
        "longest": max(spans),
        "otherwise": max(before.milliseconds),
    }


async def _back_up(home: Path) -> float:
    begin = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", "from nanobot.cli import main; main()", "db", "backup", str(home / "kept.db")),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment(home),
    )
    async with asyncio.timeout(_LIMIT_SECONDS):
        _, told = await process.communicate()
    if process.returncode:
        raise BenchmarkError(f"the backup ended with {process.returncode}: {told[-500:]!r}")
    return time.monotonic() - begin


BACKUP = Scenario(
    "backup",
    (
        Measure("seconds", "backup", "s"),
        Measure("copied", "copied", "MB"),
        Measure("longest", "longest answer meanwhile", "ms"),
        Measure("otherwise", "longest answer before", "ms"),
    ),
    backup,
    subjects=(Subject.NANOBOT,),
    once=True,
)
