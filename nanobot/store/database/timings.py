"""Who is told how long the store takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Told: TypeAlias = Callable[[float], None]


def _nobody(_seconds: float) -> None:
    """Nobody wants to know."""


class Timings:
    """Functions that are told seconds. `transaction`: from handing a unit of work in until its
    result is there, on the event loop. `synced`: a COMMIT that waits for the disk, on the thread
    that writes, which holds up every other unit meanwhile (SQLite only)."""

    def __init__(self) -> None:
        self.end()

    def end(self) -> None:
        """Nobody is told any more."""
        self.transaction: Told = _nobody
        self.synced: Told = _nobody
