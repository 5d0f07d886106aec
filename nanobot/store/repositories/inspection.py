"""Looking at a store from outside, for doctor: nothing is locked, created or changed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.store.database import migrate, schema
from nanobot.store.database.errors import as_store_error
from nanobot.store.database.postgres import PostgresDatabase
from nanobot.store.opening import check

_JOBS = sa.select(sa.func.count()).select_from(schema.jobs).where(schema.jobs.c.state == "active")


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """A store that can be used. `revision` None: it is yet to be made. `current`: it needs no
    migration. `size` in bytes, 0 where it is not a file. `jobs`: how many are active, where the
    tables are those of this program."""

    where: str
    revision: str | None
    current: bool
    size: int
    jobs: int = 0


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
            revision, jobs = _looked_at(connection)
    except DBAPIError as error:
        raise as_store_error(error.orig) from error
    finally:
        engine.dispose()
    return _inspected(str(path), revision, path.stat().st_size, jobs)


def _postgres(url: str) -> Inspection:
    database = PostgresDatabase(url, workers=1)
    try:
        revision, jobs = database.run_now(_looked_at)
    finally:
        database.shut()
    where = sa.make_url(url).render_as_string(hide_password=True)
    return _inspected(where, revision, 0, jobs)


def _looked_at(connection: sa.Connection) -> tuple[str | None, int]:
    """The revision, and how many jobs are active."""
    revision = migrate.current(connection)
    if revision is not None:
        migrate.verify(connection, revision)
    if revision is None or revision != migrate.OURS.head:
        return revision, 0
    return revision, int(connection.execute(_JOBS).scalar_one())


def _inspected(where: str, revision: str | None, size: int, jobs: int) -> Inspection:
    current = revision in (None, migrate.OURS.head)
    return Inspection(where=where, revision=revision, current=current, size=size, jobs=jobs)
