"""Who the owners on each channel are now, for the verbs that tell owners something."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import sqlalchemy as sa

from nanobot.messages import Role
from nanobot.store.database.access_tables import pairings
from nanobot.store.database.message_tables import inbound

_LET_IN = sa.exists().where(
    pairings.c.channel == inbound.c.channel,
    pairings.c.sender_id == inbound.c.sender_id,
    pairings.c.state == "approved",
    pairings.c.role == Role.OWNER,
)


class ChannelOwners(msgspec.Struct, frozen=True):
    """The owners on a channel: by its configuration, and if `by_pairing`, who was let in as one."""

    ids: tuple[str, ...]
    by_pairing: bool


def owners_among(
    channels: Mapping[str, ChannelOwners],
) -> Callable[[str], sa.ColumnElement[bool] | None]:
    """See StoreContext.owners. Owners on any other channel are owners wherever they spoke."""

    def condition(channel: str) -> sa.ColumnElement[bool] | None:
        owners = channels.get(channel)
        if owners is None:
            return None
        listed = inbound.c.sender_id.in_(owners.ids)
        return listed | _LET_IN if owners.by_pairing else listed

    return condition
