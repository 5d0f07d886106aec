"""The number of background runs in a store, also while a gateway uses it."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.plugins.common.store.at_rest import reading
from nanobot.plugins.common.store.inspection import inspect
from nanobot.plugins.common.store.task_tables import tasks
from nanobot.store.database.message_tables import RUN_LIVE, runs
from nanobot.store.database.migrate import OURS

_LIVE = sa.select(sa.func.count()).where(runs.c.id == tasks.c.run_id, RUN_LIVE)


def unended_tasks(url: str) -> int:
    """How many have not ended. 0 if there is no store, or one of another version. Raises
    StoreError."""
    if inspect(url).revision != OURS.head:
        return 0
    with reading(url) as connection:
        return connection.scalar(_LIVE) or 0
