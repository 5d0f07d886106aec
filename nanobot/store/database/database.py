"""The port to a database: a unit of work is one function, run in one thread hop and one
transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

import sqlalchemy as sa

T = TypeVar("T")
Work: TypeAlias = Callable[[sa.Connection], T]


def ignored(_seconds: float) -> None:
    """Measures nothing."""


class Database(Protocol):
    """Executes units of work."""

    dialect: str

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """Run `work` in one transaction and return its result after the commit.

        If it raises, all its changes are rolled back. Database errors are raised as StoreError.
        """

    async def close(self) -> None:
        """Finish the queued units, then close."""
