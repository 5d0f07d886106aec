"""Subscriptions of earlier versions: the files push.json and push.pem of the home, which are
imported into the store once and then removed.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from loguru import logger

from nanobot.errors import ConfigError
from nanobot.plugins.page.push.message import PushKeys
from nanobot.plugins.page.push.signing_key import key_of
from nanobot.plugins.page.store import (
    FormerSubscription,
    PushSubscription,
    SqlPushSubscriptions,
)

KEY_FILE = "push.pem"
FILE = "push.json"


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of push.json."""

    endpoint: str
    keys: PushKeys
    login: str
    since: float
    by: str
    session: str
    told: int = 0


async def bring_over(home: Path, store: SqlPushSubscriptions) -> None:
    """Import the files of the home. No other code writes them, so a crash between the transaction
    and the removal only repeats the import. Raises StoreError.
    """
    try:
        found = await asyncio.to_thread(_read, home)
    except FileNotFoundError:
        return  # they have just been imported
    except (OSError, ValueError, msgspec.DecodeError, ConfigError) as error:
        logger.warning(
            "the notifications of {} cannot be brought into the store ({}): remove {} and {} "
            "there, and switch notifications on again in each browser",
            *(home, error, KEY_FILE, FILE),
        )
        return
    if found is None:
        return
    pem, rows = found
    count = await store.bring(pem, rows) if pem else 0
    await asyncio.to_thread(_remove, home)
    logger.info("{} of {} browsers that are notified are in the store now", count, len(rows))


def _read(home: Path) -> tuple[str, list[FormerSubscription]] | None:
    key, listed = home / KEY_FILE, home / FILE
    if not key.exists() and not listed.exists():
        return None
    pem = key.read_text("ascii") if key.exists() else ""
    if pem:
        key_of(pem)
    rows = msgspec.json.decode(listed.read_bytes(), type=list[_Row]) if listed.exists() else []
    return pem, [_former(row) for row in rows]


def _former(row: _Row) -> FormerSubscription:
    subscription = PushSubscription(
        login="",
        endpoint=row.endpoint,
        p256dh=row.keys.p256dh,
        auth=row.keys.auth,
        by=row.by,
        session_key=row.session,
        told=row.told,
    )
    return FormerSubscription(name=row.login, made_at=row.since, subscription=subscription)


def _remove(home: Path) -> None:
    for name in (FILE, KEY_FILE):
        (home / name).unlink(missing_ok=True)
