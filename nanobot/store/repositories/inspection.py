"""Looking at a store from outside, for doctor: nothing is locked, created or changed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.store.database import migrate
from nanobot.store.database.errors import as_store_error
from nanobot.store.database.postgres import PostgresDatabase
from nanobot.store.opening import check


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """A store that can be used. `revision` None: it is yet to be made. `current`: it needs no
    migration. `size` in bytes, 0 where it is not a file."""

    where: str
    revision: str | None
    current: bool
    size: int


def inspect(url: str) -> Inspection:
    """Check integrity and version. Raises StoreError saying what is wrong."""
    if not url.startswith("sqlite"):
        return _postgres(url)
    path = Path(sa.make_url(url).database or "")
    if not path.exists():
        return Inspection(where=str(path), revision=None, current=True, size=0)
    check(path)
    engine = sa.create_engine(f"sqlite:///file:{path}?mode=ro&uri=true")
    try:
        with engine.connect() as connection:
            revision = _revision(connection)
    except DBAPIError as error:
        raise as_store_error(error.orig) from error
    finally:
        engine.dispose()
    return _inspected(str(path), revision, path.stat().st_size)


def _postgres(url: str) -> Inspection:
    database = PostgresDatabase(url, workers=1)
    try:
        revision = database.run_now(_revision)
    finally:
        database.shut()
    where = sa.make_url(url).render_as_string(hide_password=True)
    return _inspected(where, revision, 0)


def _revision(connection: sa.Connection) -> str | None:
    revision = migrate.current(connection)
    if revision is not None:
        migrate.verify(connection, revision)
    return revision


def _inspected(where: str, revision: str | None, size: int) -> Inspection:
    current = revision in (None, migrate.OURS.head)
    return Inspection(where=where, revision=revision, current=current, size=size)
