"""The emptied entries of a log that no `erased` entry names yet."""

from __future__ import annotations

import msgspec


class _Erasure(msgspec.Struct):
    """What is read of an `erased` entry, whatever version wrote it."""

    seq: int
    last: int = 0


class Untold:
    """Such entries; false if there are none."""

    def __init__(self) -> None:
        self._numbers: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._numbers)

    @property
    def first(self) -> int:
        """The first one; 0 if there are none."""
        return min(self._numbers, default=0)

    def emptied(self, seq: int) -> None:
        """An entry has no payload."""
        self._numbers.add(seq)

    def told(self, payload: str) -> None:
        """An `erased` entry names others. One that cannot be read names none."""
        try:
            erasure = msgspec.json.decode(payload, type=_Erasure)
        except (msgspec.DecodeError, RecursionError):
            return
        last = max(erasure.seq, erasure.last)
        self._numbers = {seq for seq in self._numbers if not erasure.seq <= seq <= last}
