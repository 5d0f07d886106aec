"""Databases on servers without a gateway: read, copied, and worked on while nobody else does."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeVar, cast

import sqlalchemy as sa

from nanobot.store.database.database import Work
from nanobot.store.plugin_tables import Revisions
from nanobot.store.servers import DatabaseServer, server_of

T = TypeVar("T")
NO_PLUGINS: Mapping[str, Revisions] = MappingProxyType({})


class DatabaseAtRest(Protocol):
    """A database that nobody else uses, without an event loop."""

    def run_now(self, work: Work[T]) -> T:
        """Run `work` in one transaction. Raises StoreError."""


class WholeServer(DatabaseServer, Protocol):
    """A database on a server, as commands without a gateway need it. Every method but `where`
    raises StoreError, and ConfigError where something is not installed."""

    @property
    def where(self) -> str:
        """The URL without its password."""

    def at_rest(self) -> AbstractContextManager[DatabaseAtRest]:
        """Open it for exclusive use, with the tables of this version. Raises StoreError while
        other processes work on it."""

    def reading(self) -> AbstractContextManager[sa.Connection]:
        """A connection whose transaction is rolled back. Others may work on it."""

    def look(self, work: Work[T]) -> T:
        """Run `work` in one transaction, whatever tables there are."""

    def back_up(self, file: Path, plugins: Mapping[str, Revisions]) -> tuple[str, ...]:
        """Copy the store into a SQLite file that is empty, from one snapshot. Returns the plugins
        whose tables are not in it."""

    def restore(self, copy: Path, plugins: Mapping[str, Revisions]) -> None:
        """Copy a SQLite store into this database, which must be empty."""

    def vacuum(self) -> tuple[int, int]:
        """Reclaim the space of removed rows. Returns the sizes before and after, in bytes."""


def whole_server_of(url: str) -> WholeServer:
    """Like `server_of`."""
    return cast(WholeServer, server_of(url))
