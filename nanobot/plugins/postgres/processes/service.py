"""What the plugin gives to one gateway over a shared store."""

from __future__ import annotations

from nanobot.plugins.postgres.processes.sharing import PostgresProcesses
from nanobot.plugins.postgres.store.notices import Notices
from nanobot.store.opening import Store


def sharing(store: Store) -> PostgresProcesses | None:
    """See seam.plugin.Plugin.sharing; None over a store that is not in PostgreSQL."""
    if not isinstance(store.notices, Notices):
        return None
    return PostgresProcesses(store.database, store.writer, store.notices)
