"""Waits for a PostgreSQL that is restarting or starts at the same time as the gateway."""

from __future__ import annotations

import sqlalchemy as sa
from loguru import logger

from nanobot.plugins.common.optional import require
from nanobot.ports import Clock

PATIENCE_SECONDS = 60.0
"""How long a start waits for a server that does not accept connections."""
_AGAIN_SECONDS = 1.0
_SAID_EVERY = 10.0
_CONNECT_SECONDS = 5

# How libpq and the server describe a server that is not available; a connection that fails has no
# SQLSTATE.
_AWAY = (
    "connection refused",
    "no such file or directory",
    "starting up",
    "shutting down",
    "recovery",
    "not yet accepting",
    "closed the connection",
    "timeout",
    "resolve host",
    "no route to host",
    "network is unreachable",
)


async def until_reached(url: str, clock: Clock) -> None:
    """Return once the server accepts connections, or after a minute. If it refuses ours for another
    reason (a password, a missing database), return at once: opening the store reports the reason.
    """
    if not url or url.startswith("sqlite"):
        return
    require("postgres", "database_url")
    began = said = clock.monotonic()
    while (why := await _away(url)) is not None:
        waited = clock.monotonic() - began
        if waited >= PATIENCE_SECONDS:
            return
        if waited == 0 or clock.monotonic() - said >= _SAID_EVERY:
            said = clock.monotonic()
            logger.warning(
                "waiting for PostgreSQL at {} ({}); giving up after {:.0f} s",
                *(place_of(url), why, PATIENCE_SECONDS),
            )
        await clock.sleep(_AGAIN_SECONDS)


def place_of(url: str) -> str:
    """The server of a URL, without secrets."""
    address = sa.make_url(url)
    host = address.host or str(address.query.get("host", "the local socket"))
    return f"{host}:{address.port}" if address.port else host


async def _away(url: str) -> str | None:
    """Why the server accepts no connections; None if it does, or if it refuses only ours."""
    import psycopg  # noqa: PLC0415 - comes with an extra

    address = sa.make_url(url).set(drivername="postgresql")
    given = address.render_as_string(hide_password=False)
    try:
        line = await psycopg.AsyncConnection.connect(given, connect_timeout=_CONNECT_SECONDS)
        await line.close()
    except (psycopg.Error, OSError) as error:
        why = " ".join(str(error).split())
        return why[:200] if any(sign in why.lower() for sign in _AWAY) else None
    return None
