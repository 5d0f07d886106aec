"""The number of open approvals in a store, also while a gateway uses it."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.plugins.common.store.at_rest import reading
from nanobot.plugins.common.store.inspection import inspect
from nanobot.store.database.message_tables import APPROVAL_OPEN, approvals
from nanobot.store.database.migrate import OURS

_OPEN = sa.select(sa.func.count()).select_from(approvals).where(APPROVAL_OPEN)


def undecided(url: str) -> int:
    """How many approvals and questions are open. 0 if there is no store, or one of another version.
    Raises StoreError."""
    if inspect(url).revision != OURS.head:
        return 0
    with reading(url) as connection:
        return connection.scalar(_OPEN) or 0
