"""Inspects a store from outside, for doctor: it locks, creates and changes nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import sqlalchemy as sa

from nanobot.plugins.common.store.at_rest import read_only
from nanobot.plugins.common.store.servers import whole_server_of
from nanobot.store.database import migrate
from nanobot.store.opening import check, sqlite_path


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """A usable store. `revision` None: it does not exist yet. `current`: it needs no migration.
    `size` in bytes, 0 if it is not a file."""

    where: str
    revision: str | None
    current: bool
    size: int


def inspect(url: str) -> Inspection:
    """Check integrity and version. Raises StoreError, which describes the problem."""
    if not url.startswith("sqlite"):
        server = whole_server_of(url)
        return _inspected(server.where, 0, server.look(_revision))
    path = sqlite_path(url) or Path(":memory:")
    if not path.exists():
        return Inspection(where=str(path), revision=None, current=True, size=0)
    check(path)
    with read_only(path) as connection:
        revision = _revision(connection)
    return _inspected(str(path), path.stat().st_size, revision)


def _revision(connection: sa.Connection) -> str | None:
    """The revision of the store; None: it is empty."""
    revision = migrate.current(connection)
    if revision is not None:
        migrate.verify(connection, revision)
    return revision


def _inspected(where: str, size: int, revision: str | None) -> Inspection:
    current = revision in (None, migrate.OURS.head)
    return Inspection(where=where, revision=revision, current=current, size=size)
