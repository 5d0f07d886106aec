"""Which messages of a platform are ours."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database import schema

_o = schema.outbound
_p = schema.outbound_parts

_LATELY = 10_000
"""The number of messages searched for a receipt that has no index."""


def arrived(connection: sa.Connection, channel: str, message_ids: tuple[str, ...]) -> list[str]:
    """Those that are parts of a recently sent message."""
    latest = sa.select(sa.func.max(_o.c.id)).scalar_subquery()
    query = (
        sa.select(_p.c.receipt)
        .join(_o, _o.c.id == _p.c.outbound_id)
        .where(
            _p.c.outbound_id > latest - _LATELY,
            _p.c.receipt.in_(message_ids),
            _o.c.channel == channel,
        )
    )
    return list(connection.scalars(query))
