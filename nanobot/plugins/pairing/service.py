"""The pairings of a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.bus.gate import Strangers
from nanobot.plugins.pairing.pairing import Pairing
from nanobot.plugins.pairing.store.pairings import SqlPairingStore
from nanobot.ports import Clock
from nanobot.store.opening import Store


def objects(store: Store, clock: Clock) -> Mapping[Any, Any]:
    """The pairings, for operations, and for gates, which ask them about strangers."""
    pairing = Pairing(SqlPairingStore(store.database, store.writer), clock)
    return {Pairing: pairing, Strangers: pairing}
