"""The channels that have an owner by pairing, also while a gateway uses the store."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.plugins.common.store import access_tables
from nanobot.plugins.common.store.at_rest import reading
from nanobot.plugins.common.store.inspection import inspect
from nanobot.store.database.migrate import OURS

_p = access_tables.pairings
_OWNED = sa.select(_p.c.channel).where(_p.c.state == "approved", _p.c.role == "owner").distinct()


def owned_channels(url: str) -> frozenset[str]:
    """Empty if there is no store, or one of another version. Raises StoreError."""
    if inspect(url).revision != OURS.head:
        return frozenset()
    with reading(url) as connection:
        return frozenset(connection.execute(_OWNED).scalars())
