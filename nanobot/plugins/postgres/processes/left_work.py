"""Work that other processes over the same store leave to this one, which serves a channel.

Their notifications can be lost, so the store is also read as often as `look_due` says.
"""

from __future__ import annotations

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.plugins.postgres.processes.peers import PeerProcesses
from nanobot.ports import Clock

_LOOK_SECONDS = 2.0
"""Where nothing tells how often."""


async def look_due(bus: Bus, clock: Clock) -> None:
    """Wait until it is time to check the store for work that others left."""
    if isinstance(bus.peers, PeerProcesses):
        await bus.peers.looks.due()
    else:
        await clock.sleep(_LOOK_SECONDS)


async def outbox(channel: str, bus: Bus, clock: Clock) -> None:
    """Deliver messages that they created for our chats, until cancelled."""
    while True:
        await look_due(bus, clock)
        with boundary(f"looking into the outbox of {channel}"):
            for address in await bus.journal.owed_chats(channel):
                bus.deliver(address)


async def files(channel: str, bus: Bus, clock: Clock) -> None:
    """Fetch the files of messages that they admitted, until cancelled."""
    while True:
        await look_due(bus, clock)
        bus.files_came(channel).set()
