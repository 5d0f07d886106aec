"""Inspects a store from outside, for doctor: it locks, creates and changes nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.store.database import migrate, schema
from nanobot.store.database.errors import as_store_error
from nanobot.store.opening import check
from nanobot.store.servers import server_of

_OWNED = (
    sa.select(schema.pairings.c.channel)
    .where(schema.pairings.c.state == "approved", schema.pairings.c.role == "owner")
    .distinct()
)


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """A usable store. `revision` None: it does not exist yet. `current`: it needs no migration.
    `size` in bytes, 0 if it is not a file. `owned`: the channels with a paired owner, set only if
    the tables are those of this program.
    """

    where: str
    revision: str | None
    current: bool
    size: int
    owned: frozenset[str] = frozenset()


def inspect(url: str) -> Inspection:
    """Check integrity and version. Raises StoreError, which describes the problem."""
    if not url.startswith("sqlite"):
        server = server_of(url)
        return _inspected(server.where, 0, server.look(_looked_at))
    path = Path(sa.make_url(url).database or "")
    if not path.exists():
        return Inspection(where=str(path), revision=None, current=True, size=0)
    check(path)
    engine = sa.create_engine(f"sqlite:///file:{path}?mode=ro&uri=true")
    try:
        with engine.connect() as connection:
            seen = _looked_at(connection)
    except DBAPIError as error:
        raise as_store_error(error.orig) from error
    finally:
        engine.dispose()
    return _inspected(str(path), path.stat().st_size, seen)


class _Seen(msgspec.Struct, frozen=True):
    revision: str | None
    owned: frozenset[str] = frozenset()


def _looked_at(connection: sa.Connection) -> _Seen:
    revision = migrate.current(connection)
    if revision is not None:
        migrate.verify(connection, revision)
    if revision is None or revision != migrate.OURS.head:
        return _Seen(revision)
    return _Seen(revision, frozenset(connection.execute(_OWNED).scalars()))


def _inspected(where: str, size: int, seen: _Seen) -> Inspection:
    return Inspection(
        where=where,
        revision=seen.revision,
        current=seen.revision in (None, migrate.OURS.head),
        size=size,
        owned=seen.owned,
    )
