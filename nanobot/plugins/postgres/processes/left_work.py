"""Work that other processes over the same store leave to this one, which serves a channel."""

from __future__ import annotations

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.ports import Clock


class OtherProcesses:
    """Their notifications can be lost, so the store is also read as often as
    `Peers.look_due` says."""

    def __init__(self, name: str, bus: Bus, clock: Clock) -> None:
        self._name = name
        self._bus = bus
        self._clock = clock

    async def outbox(self) -> None:
        """Deliver messages that they created for our chats."""
        while True:
            await self._bus.peers.look_due(self._clock)
            with boundary(f"looking into the outbox of {self._name}"):
                for address in await self._bus.journal.owed_chats(self._name):
                    self._bus.deliver(address)

    async def files(self) -> None:
        """Fetch the files of messages that they admitted."""
        while True:
            await self._bus.peers.look_due(self._clock)
            self._bus.files_came(self._name).set()
