"""Where marks on files are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TaintMarks(Protocol):
    """A set of short texts, KIND:NAME, that outlives the process."""

    async def add(self, marks: Sequence[str]) -> None:
        """Have these, too."""
        ...

    async def remove(self, marks: Sequence[str]) -> None:
        """Have these no longer."""
        ...

    async def any_of(self, marks: Sequence[str]) -> bool:
        """Whether one of these is there."""
        ...

    async def beginning_with(self, prefix: str) -> list[str]:
        """Those of a kind (with its colon), sorted."""
        ...


class MemoryMarks:
    """Marks for as long as the process lives."""

    def __init__(self) -> None:
        self._marks: set[str] = set()

    async def add(self, marks: Sequence[str]) -> None:
        self._marks.update(marks)

    async def remove(self, marks: Sequence[str]) -> None:
        self._marks.difference_update(marks)

    async def any_of(self, marks: Sequence[str]) -> bool:
        return not self._marks.isdisjoint(marks)

    async def beginning_with(self, prefix: str) -> list[str]:
        return sorted(mark for mark in self._marks if mark.startswith(prefix))
