"""The leases of channels and processes over SQL: every verb is one function in one transaction."""

from __future__ import annotations

from nanobot.plugins.postgres.store import beating, channel_leases
from nanobot.store.verbs import SqlStore, bare_verb, verb


class SqlLeases(SqlStore):
    """See beats.Leases."""

    hold_channel = verb(channel_leases.hold)
    leave_channel = verb(channel_leases.leave)
    beat = verb(beating.beat)
    free_dead = bare_verb(beating.free_dead)
