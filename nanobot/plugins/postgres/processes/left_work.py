"""Work that other processes over the same store leave to this one, which serves a channel.

Their notifications can be lost, so the store is also read as often as `Peers.look_due` says.
"""

from __future__ import annotations

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.ports import Clock


async def outbox(channel: str, bus: Bus, clock: Clock) -> None:
    """Deliver messages that they created for our chats, until cancelled."""
    while True:
        await bus.peers.look_due(clock)
        with boundary(f"looking into the outbox of {channel}"):
            for address in await bus.journal.owed_chats(channel):
                bus.deliver(address)


async def files(channel: str, bus: Bus, clock: Clock) -> None:
    """Fetch the files of messages that they admitted, until cancelled."""
    while True:
        await bus.peers.look_due(clock)
        bus.files_came(channel).set()
