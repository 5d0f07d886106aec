"""The number of jobs in a store, also while a gateway uses it."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.plugins.common.store import job_tables
from nanobot.plugins.common.store.at_rest import reading
from nanobot.plugins.common.store.inspection import inspect
from nanobot.store.database.migrate import OURS

_ACTIVE = sa.select(sa.func.count()).select_from(job_tables.jobs).where(job_tables.JOB_ACTIVE)


def active_jobs(url: str) -> int:
    """How many jobs are due at some time. 0 if there is no store, or one of another version. Raises
    StoreError."""
    if inspect(url).revision != OURS.head:
        return 0
    with reading(url) as connection:
        return connection.scalar(_ACTIVE) or 0
