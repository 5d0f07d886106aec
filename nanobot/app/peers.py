"""The other processes of a shared store, as the parts of this gateway see them."""

from __future__ import annotations

from nanobot.app.plugged import Plugged
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
