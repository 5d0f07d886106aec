"""The channels that messages can be sent to from here."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nanobot.bus.core import Bus


class ServedChannels(Collection[str]):
    """The channels that can be written to: those configured here, and those of other processes."""

    def __init__(self, own: Collection[str], bus: Bus) -> None:
        self._own = own
        self._bus = bus

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._bus.peers.served()

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._own, *self._bus.peers.served())))

    def __len__(self) -> int:
        return len(list(iter(self)))
