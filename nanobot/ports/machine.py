"""The machine: time, identities and the content of files, injected so that tests own them."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time, injected so that tests own it."""

    def now(self) -> float:
        """Unix seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Ids(Protocol):
    """Where identities and salts come from."""

    def run_id(self) -> str:
        """Unique for ever; sorts by time of creation."""
        ...

    def salt(self) -> bytes:
        """16 random bytes."""
        ...


class BlobReader(Protocol):
    """Where the content of files is read."""

    async def read(self, digest: str) -> bytes:
        """The content with this sha256 (`Attachment.blob`). Raises BlobMissing."""
        ...
