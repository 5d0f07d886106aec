"""The other processes of one gateway over a shared store."""

from __future__ import annotations

from nanobot.app.peers import ThisProcess
from nanobot.bus.core import Bus
from nanobot.errors import StoreError
from nanobot.plugins.postgres.processes.peers import PeerProcesses
from nanobot.plugins.postgres.store.notices import Notices
from nanobot.ports import Clock
from nanobot.store.opening import Store


def processes(store: Store, bus: Bus, clock: Clock, this: ThisProcess) -> PeerProcesses:
    """See seam.plugin.Plugin.processes."""
    if not isinstance(store.notices, Notices):
        raise StoreError("the store is not in PostgreSQL")
    return PeerProcesses(store.notices, bus, clock, this, store.beats)
