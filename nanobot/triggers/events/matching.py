"""Looking for a pattern without being held up by it: in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from nanobot.triggers.events.matcher import JOB_SECONDS
from nanobot.triggers.events.sensor import SensorUnreadable

_PATIENCE = JOB_SECONDS + 10.0
_LONGEST = 4_096
"""Characters of a line that are looked at."""


class Hits(msgspec.Struct, frozen=True):
    """The numbers of the lines with the pattern, and how many lines were left out because the
    pattern takes too long."""

    hits: tuple[int, ...] = ()
    slow: int = 0


class Matcher:
    """Looks for one pattern. The process is started with the first lines and stays; a killed one is
    started again."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        self._pattern = pattern
        self._ignore_case = ignore_case
        self._process: Process | None = None

    async def look(self, lines: Sequence[str]) -> Hits:
        """Where the pattern is found. Raises Unreadable when the process does not work."""
        if not lines:
            return Hits()
        job = {
            "pattern": self._pattern,
            "ignore_case": self._ignore_case,
            "lines": [line[:_LONGEST] for line in lines],
        }
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._ask(msgspec.json.encode(job) + b"\n")
        except TimeoutError:
            await self.close()
            return Hits((), len(lines))
        except (OSError, ValueError, msgspec.DecodeError) as error:
            await self.close()
            raise SensorUnreadable(f"the process that looks for patterns fails: {error}") from None
        except asyncio.CancelledError:
            await self.close()  # its answer would be taken for that to the next question
            raise

    async def _ask(self, job: bytes) -> Hits:
        process = self._process
        if process is None or not self.alive:
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(Path(__file__).with_name("matcher.py"))),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={},
                limit=16 << 20,
            )
        if process.stdin is None or process.stdout is None:
            raise SensorUnreadable("it has no pipes")
        process.stdin.write(job)
        await process.stdin.drain()
        return msgspec.json.decode(await process.stdout.readline(), type=Hits)

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.returncode is None

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        # One that nobody waits for stays a zombie.
        await process.wait()
