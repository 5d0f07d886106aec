"""The leases of lanes, channels, processes and chats over SQL: every verb is one function in one
transaction."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.messages import Address
from nanobot.plugins.postgres.store import beating, channel_leases, lane_leases
from nanobot.plugins.postgres.store.chat_claims import SqlChatClaims
from nanobot.session.outbox import Taken
from nanobot.store.journal.outbox import next_outbound
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, verb


def take_chat(unit: Unit, address: Address, *, helping: bool) -> Taken:
    """Acquire or renew the lease of a chat, unless another process has it, with its oldest unsent
    message. After another process takes over, the verbs of the chat's messages raise Fenced.
    `helping`: this process does not receive for the channel, and may send only if the process that
    does shares it."""
    claims = unit.writer.chats
    if not isinstance(claims, SqlChatClaims):  # nobody shares this store
        return Taken(next_outbound(unit, address))
    outcome = claims.take(unit, address, helping=helping)
    row = next_outbound(unit, address)
    holder = outcome()
    return Taken(row) if holder is None else Taken(holder=holder)


def renew_chats(unit: Unit, addresses: Sequence[Address]) -> list[Address]:
    """Renew these leases. Returns the chats that this process still has."""
    if not isinstance(unit.writer.chats, SqlChatClaims):
        return list(addresses)
    return unit.writer.chats.renew(unit, addresses)


def leave_chats(unit: Unit, addresses: Sequence[Address]) -> None:
    """Release these chats at once. No send to them may be in progress."""
    if isinstance(unit.writer.chats, SqlChatClaims):
        unit.writer.chats.leave(unit, addresses)


class SqlLeases(SqlStore):
    """See beats.Leases."""

    hold_channel = verb(channel_leases.hold)
    leave_channel = verb(channel_leases.leave)
    beat = verb(beating.beat)
    free_dead = verb(beating.free_dead)
    renew = verb(lane_leases.renew)
    take_chat = verb(take_chat)
    renew_chats = verb(renew_chats)
    leave_chats = verb(leave_chats)
