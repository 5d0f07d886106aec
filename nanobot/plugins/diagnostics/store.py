"""The schema of the database and the number of rows of each table, read from outside."""

from __future__ import annotations

import time
from pathlib import Path

import sqlalchemy as sa

from nanobot.errors import NanobotError
from nanobot.plugins.common.store.at_rest import read_only
from nanobot.plugins.common.store.servers import whole_server_of
from nanobot.store.database import migrate
from nanobot.store.opening import sqlite_path

_MOST_ROWS = 1_000_000
_SECONDS = 5.0
_WAIT_MILLISECONDS = 2_000


def database(url: str) -> str:
    """Revision, size and counts. Nothing is locked, created or changed. Raises StoreError."""
    if not url.startswith("sqlite"):
        return whole_server_of(url).look(_seen)
    path = sqlite_path(url) or Path(":memory:")
    if not path.exists():
        return "kind      SQLite\nThe database does not exist yet."
    with read_only(path) as connection:
        _limit(connection)
        return _seen(connection)


def _limit(connection: sa.Connection) -> None:
    """End a statement that takes too long."""
    until = time.monotonic() + 2 * _SECONDS
    raw = connection.connection.driver_connection
    if raw is None:
        raise NanobotError("the database has no connection")
    raw.execute(f"PRAGMA busy_timeout = {_WAIT_MILLISECONDS}")
    raw.set_progress_handler(lambda: time.monotonic() > until, 100_000)


def _seen(connection: sa.Connection) -> str:
    revision = migrate.current(connection)
    lines = [
        f"kind      {connection.dialect.name} {_server(connection)}",
        f"revision  {revision or 'none'} (this program has {migrate.OURS.head})",
        f"columns   {_fingerprint(connection, revision)}",
        "",
        "Rows:",
        *_counts(connection),
    ]
    return "\n".join(lines)


def _server(connection: sa.Connection) -> str:
    return ".".join(map(str, connection.dialect.server_version_info or ()))


def _fingerprint(connection: sa.Connection, revision: str | None) -> str:
    if revision is None:
        return "there are none"
    lacking = migrate.missing(connection, revision)
    return f"{len(lacking)} are missing" if lacking else "all of this revision are there"


def _counts(connection: sa.Connection) -> list[str]:
    """The number of rows of each table, up to a million, for five seconds."""
    until, lines = time.monotonic() + _SECONDS, list[str]()
    for name in sorted(sa.inspect(connection).get_table_names()):
        if time.monotonic() > until:
            lines.append(f"  {name}: not counted, time is up")
            continue
        rows = sa.select(sa.literal(1)).select_from(sa.table(name)).limit(_MOST_ROWS).subquery()
        count = connection.scalar(sa.select(sa.func.count()).select_from(rows)) or 0
        more = " or more" if count == _MOST_ROWS else ""
        lines.append(f"  {name}: {count:,}{more}")
    return lines
