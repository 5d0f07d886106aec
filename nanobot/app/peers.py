"""The other processes of a shared store, as the parts of this gateway see them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Protocol

from nanobot.app.plugged import Plugged
from nanobot.bus.core import Bus
from nanobot.bus.peers import Peers
from nanobot.channels.chat_leases import Sharing
from nanobot.errors import StoreError
from nanobot.seam.offers import Offers
from nanobot.store.opening import Store

SCHEDULER = "(scheduler)"
"""What fires jobs and watches for what triggers runs: see Sharing.alone."""


class SharedStore(Sharing):
    """What the processes over one store agree on, and how they hear of each other: this one is
    alone."""

    def processes(self, offers: Offers) -> Peers:
        """The others, which are told about this process: its parts are offered."""
        return Peers()


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


def sharing_of(store: Store, plugged: Plugged) -> SharedStore:
    """What the processes over a shared store agree on, as the plugin of its database gives it.
    Raises StoreError: without it, two of them would do the same."""
    if not store.shared:
        return SharedStore()
    found = plugged.only("sharing", SharedStore, "another plugin already shares the store")
    if found is None:
        raise StoreError("the plugin of the database failed: `nanobot plugins list` says why")
    shared: SharedStore = found[1]
    return shared


class SharedJobs(Protocol):
    """What does jobs that other processes change, too. A plugin offers it."""

    on_announced: Callable[[], None] | None
    """Called when this process changed jobs, because another process may have to do them."""

    def look_at_all(self) -> None:
        """Another process changed jobs: look at them now, and soon after at what it started."""
