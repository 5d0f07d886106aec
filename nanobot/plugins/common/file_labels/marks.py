"""Storage of marks on files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class TaintMarks(Protocol):
    """A persistent set of short texts of the form KIND:NAME."""

    async def add(self, marks: Sequence[str]) -> None:
        """Add these."""

    async def remove(self, marks: Sequence[str]) -> None:
        """Remove these."""

    async def any_of(self, marks: Sequence[str]) -> bool:
        """Whether one of these is in the set."""

    async def look(
        self, marks: Sequence[str], prefix: str, of: Callable[[str], Sequence[str]]
    ) -> tuple[bool, list[str]]:
        """`any_of(marks)`, and those names of a kind for which `any_of(of(name))` is true, in one
        transaction."""

    async def beginning_with(self, prefix: str) -> list[str]:
        """The marks of a kind (with its colon), sorted."""


class MemoryMarks:
    """Marks that last as long as the process."""

    def __init__(self) -> None:
        self._marks: set[str] = set()

    async def add(self, marks: Sequence[str]) -> None:
        self._marks.update(marks)

    async def remove(self, marks: Sequence[str]) -> None:
        self._marks.difference_update(marks)

    async def any_of(self, marks: Sequence[str]) -> bool:
        return not self._marks.isdisjoint(marks)

    async def look(
        self, marks: Sequence[str], prefix: str, of: Callable[[str], Sequence[str]]
    ) -> tuple[bool, list[str]]:
        names = [mark.removeprefix(prefix) for mark in await self.beginning_with(prefix)]
        return await self.any_of(marks), [name for name in names if await self.any_of(of(name))]

    async def beginning_with(self, prefix: str) -> list[str]:
        return sorted(mark for mark in self._marks if mark.startswith(prefix))
