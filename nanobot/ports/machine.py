"""The machine: time, ids and the content of files, injected so that tests control them."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time, injected so that tests control it."""

    def now(self) -> float:
        """Unix seconds."""

    def monotonic(self) -> float:
        """Seconds that never go back, for durations."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class Ids(Protocol):
    """Creates ids and salts."""

    def run_id(self) -> str:
        """Permanently unique; sorts by time of creation."""

    def salt(self) -> bytes:
        """16 random bytes."""


class BlobReader(Protocol):
    """Reads the content of files."""

    async def read(self, digest: str) -> bytes:
        """The content with this sha256 (`Attachment.blob`). Raises BlobMissing."""
