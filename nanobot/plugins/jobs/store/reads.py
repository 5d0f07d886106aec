"""A job's answer that arrived: the session in which the job worked counts as read, too."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.plugins.common.jobs.job_keys import job_of
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.common.views.digests import DIGEST
from nanobot.session.outbox import OutboundRow
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal.outbox import READ_UNTIL

_o = schema.outbound
_c = job_tables.occurrences

_OF_JOB = (
    sa.select(_c.c.session_key)
    .where(_c.c.job_id == sa.bindparam("j"))
    .order_by(_c.c.scheduled_at.desc())
    .limit(sa.literal_column("1"))
)
_READ = Prepared(READ_UNTIL.where(schema.sessions.c.key == _OF_JOB.scalar_subquery()))
_COMBINED = Prepared(
    sa.select(_o.c.key).where(
        _o.c.session_key == sa.bindparam("k"),
        _o.c.state == "digested",
        _o.c.id.between(sa.bindparam("first"), sa.bindparam("last")),
    )
)


class JobReads:
    """See store.unit.ArrivalHook."""

    def arrives(self, connection: Connection, row: OutboundRow) -> None:
        for key in (row.message.key, *_combined(connection, row)):
            job = job_of(key)
            if job is not None:
                _READ.execute(connection, j=job, at=row.created_at)


def _combined(connection: Connection, row: OutboundRow) -> list[str]:
    """The keys of a digest's notifications."""
    first, dash, last = row.message.key.removeprefix(DIGEST).partition("-")
    if not (dash and row.message.key.startswith(DIGEST)):
        return []
    rows = _COMBINED.execute(connection, k=row.session_key, first=int(first), last=int(last))
    return [key for (key,) in rows]
