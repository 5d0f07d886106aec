"""Maintains a store: back it up, put it back, check it, and compact it.

Operations that change a store need exclusive access. Operations that only read (backup, check) work
while a gateway runs.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec
import sqlalchemy as sa

from nanobot.errors import StoreCorrupt, StoreUnwritable, UsageError
from nanobot.plugins.common.store import chain
from nanobot.plugins.common.store.at_rest import (
    COMMAND,
    begin_reading,
    file_of,
    present,
    reading,
    where,
)
from nanobot.plugins.common.store.servers import NO_PLUGINS, whole_server_of
from nanobot.store.database import migrate, schema
from nanobot.store.database.lock import HomeLock
from nanobot.store.database.sqlite import PAGE_SIZE, SqliteDatabase
from nanobot.store.opening import check, uri_of
from nanobot.store.plugin_tables import Revisions

_MOST_PROBLEMS = 20
_s = schema.sessions
_o, _p = schema.outbound, schema.outbound_parts


class CheckedStore(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check: the store's location, its revision, its size, and the problems
    found.
    """

    where: str
    revision: str
    sessions: int
    entries: int
    problems: tuple[str, ...] = ()


def back_up(url: str, file: Path, plugins: Mapping[str, Revisions] = NO_PLUGINS) -> tuple[str, ...]:
    """Write a consistent copy of the store to a SQLite file, even while a gateway runs, with the
    tables of these plugins. Returns the plugins whose tables are not in it. Raises UsageError if
    the file exists.
    """
    if file.exists():
        raise UsageError(f"{file} exists: name a file that does not")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}: make it first")
    path = present(url)
    unfinished = file.with_name(f".{file.name}.part")
    try:
        _remove(unfinished)
        # Do not overwrite a file that another program has put there meanwhile, if others may write
        # to the folder.
        unfinished.touch(0o600, exist_ok=False)
    except OSError as error:
        raise StoreUnwritable(f"{unfinished} cannot be made ({error.strerror})") from error
    try:
        left: tuple[str, ...] = ()
        if path is not None:
            _copy_sqlite(path, f"{uri_of(path)}?mode=ro", unfinished)
        else:
            left = whole_server_of(url).back_up(unfinished, plugins)
        check(unfinished)
        unfinished.replace(file)
    finally:
        _remove(unfinished)
    return left


def restore(url: str, file: Path, plugins: Mapping[str, Revisions] = NO_PLUGINS) -> str:
    """Replace the store with a backup, and the tables of these plugins. Returns where the previous
    store went ("": there was none). The backup is migrated and checked before anything is touched.
    """
    check_backup(file)
    path = file_of(url)
    if path is None:
        with tempfile.TemporaryDirectory() as folder:
            whole_server_of(url).restore(_working_copy(file, Path(folder)), plugins)
        return ""
    with HomeLock(path.parent, COMMAND, f"{path.stem}.lock"):
        copy_path = _working_copy(file, path.parent)
        kept = path.with_name(f"{path.name}.{time.time_ns() // 1_000_000}.bak")
        if path.exists():
            _keep_as_it_is(path, kept)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        copy_path.replace(path)
        return str(kept) if kept.exists() else ""


def _keep_as_it_is(path: Path, kept: Path) -> None:
    """Keep the files themselves: a damaged store could not be read. If the file is still usable,
    the WAL is written back into it first.
    """
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for suffix in ("", "-wal"):
        source, target = path.with_name(path.name + suffix), kept.with_name(kept.name + suffix)
        if source.exists():
            target.touch(0o600)
            try:
                shutil.copyfile(source, target)
            except OSError as error:
                raise StoreUnwritable(f"{path} could not be kept as {kept} ({error})") from error


def check_store(url: str) -> CheckedStore:
    """Check everything: the database's own integrity check, and the chain of every log."""
    path = present(url)
    problems: list[str] = []
    if path is not None:
        with _noting(problems):
            check(path, thorough=True)
    with reading(url) as connection:
        revision = migrate.current(connection) or "none"
        if revision == "none":
            raise UsageError("the database is empty: the first start of a gateway makes its tables")
        migrate.verify(connection, revision)
        counts = [
            int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)
            for table in (schema.sessions, schema.entries)
        ]
        keys = list(connection.scalars(sa.select(schema.sessions.c.key)))
        for key in keys:
            # One snapshot per log: a single one over all logs would keep SQLite from writing the
            # WAL back for as long as the check takes.
            begin_reading(connection)
            if connection.scalar(sa.select(_s.c.key).where(_s.c.key == key)) is None:
                continue  # removed meanwhile
            with _noting(problems):
                chain.verify_within(connection, key)
    return CheckedStore(
        where=where(url),
        revision=revision,
        sessions=counts[0],
        entries=counts[1],
        problems=tuple(problems[:_MOST_PROBLEMS]),
    )


def vacuum(url: str) -> tuple[int, int]:
    """Reclaim the space of deleted data, and give a file of an earlier version the page size of
    new ones. Returns the database's size before and after, in bytes.
    """
    path = present(url)
    if path is None:
        return whole_server_of(url).vacuum()
    with HomeLock(path.parent, COMMAND, f"{path.stem}.lock"):
        before = path.stat().st_size
        try:
            with closing(sqlite3.connect(path)) as connection:
                _set_page_size(connection)
                connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise StoreUnwritable(f"{path}: {error}; it needs as much room again") from error
        return before, path.stat().st_size


def _set_page_size(connection: sqlite3.Connection) -> None:
    """For the next VACUUM. A file with a WAL keeps its page size, and a reader in another process
    keeps the WAL (https://www.sqlite.org/pragma.html#pragma_page_size).
    """
    if connection.execute("PRAGMA page_size").fetchone() != (PAGE_SIZE,):
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
            connection.execute(f"PRAGMA page_size={PAGE_SIZE}")


def check_backup(file: Path) -> None:
    """Raises UsageError if the file is not a backup, StoreCorrupt if it is damaged."""
    if not file.is_file():
        raise UsageError(f"there is no file {file}")
    check(file, uri=_uri_at_rest(file))
    with closing(sqlite3.connect(_uri_at_rest(file), uri=True)) as connection:
        query = "SELECT count(*) FROM sqlite_master WHERE name IN ('alembic_version', 'sessions')"
        if connection.execute(query).fetchone() != (2,):
            raise UsageError(f"{file} is not a store of nanobot's")


def _uri_at_rest(path: Path) -> str:
    """The URI of a file that nobody writes, as a backup: it can lie on a read-only disk, and no
    other files appear next to it.
    """
    log = path.with_name(f"{path.name}-wal")
    unwritten = log.exists() and log.stat().st_size > 0
    return f"{uri_of(path)}?mode=ro" if unwritten else f"{uri_of(path)}?mode=ro&immutable=1"


def _working_copy(file: Path, folder: Path) -> Path:
    """A copy that may be changed, with the tables of this version and verified logs."""
    copy = folder / f".{file.name}.restoring"
    _remove(copy)
    try:
        _copy_sqlite(file, _uri_at_rest(file), copy)
        database = SqliteDatabase(copy)
        try:
            if database.run_now(migrate.prepare):
                database.run_now(migrate.upgrade)
            database.run_now(_verify_all)
            database.run_now(_doubt_sends)
        finally:
            database.shut()
    except BaseException:
        _remove(copy)
        raise
    return copy


def _verify_all(connection: sa.Connection) -> None:
    for key in connection.scalars(sa.select(schema.sessions.c.key)).all():
        chain.verify_within(connection, key)


def _doubt_sends(connection: sa.Connection) -> None:
    """What was unsent when the backup was made has perhaps been sent since then: it is looked up,
    or says that it may be a repeat, like a send that a crash interrupted.
    """
    unsent = sa.select(_p.c.outbound_id, sa.func.min(_p.c.idx), sa.func.min(_o.c.created_at))
    unsent = unsent.join(_o, _o.c.id == _p.c.outbound_id)
    unsent = unsent.where(schema.OUTBOUND_OPEN, _p.c.state == "pending")
    in_doubt = sa.select(_p.c.outbound_id).where(_p.c.state == "sending")
    unsent = unsent.where(_p.c.outbound_id.not_in(in_doubt)).group_by(_p.c.outbound_id)
    for message, idx, created_at in connection.execute(unsent).all():
        part = sa.update(_p).where(_p.c.outbound_id == message, _p.c.idx == idx)
        connection.execute(part.values(state="sending", began_at=created_at))
    rendered = sa.select(_p.c.outbound_id)
    others = sa.update(_o).where(schema.OUTBOUND_OPEN, _o.c.id.not_in(rendered))
    connection.execute(others.values(duplicate_sends=_o.c.duplicate_sends + 1))


def _copy_sqlite(path: Path, uri: str, target: Path) -> None:
    try:
        target.touch(0o600)
        with (
            closing(sqlite3.connect(uri, uri=True)) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            # In one step: a backup in several steps restarts at its first page whenever another
            # connection writes, so it would never finish while a gateway is in use.
            source.backup(copy, pages=-1)
    except (sqlite3.Error, OSError) as error:
        raise StoreUnwritable(f"no copy of {path} could be made ({error})") from error


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except StoreCorrupt as error:
        problems.append(str(error))


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()
