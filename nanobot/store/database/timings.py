"""Callbacks for measuring the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Told: TypeAlias = Callable[[float], None]


def _nobody(_seconds: float) -> None:
    """The default, which ignores the time."""


class Timings:
    """Callbacks that receive seconds. `transaction`: from submitting a unit of work to its result,
    on the event loop. `synced`: a COMMIT that waits for the disk, on the writer thread, where it
    delays all other units (SQLite only).
    """

    def __init__(self) -> None:
        self.end()

    def end(self) -> None:
        """Remove the callbacks."""
        self.transaction: Told = _nobody
        self.synced: Told = _nobody
