"""The machine's own clock, for adapters that were given none."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """See nanobot.ports.Clock."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
