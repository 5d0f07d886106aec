"""Remembers deliveries that a hook accepted, by the unsigned names that senders give them."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict

import msgspec

from nanobot.plugins.common.trigger_state import TriggerState

MOST = 1_000
"""Maximum delivery names that a hook remembers."""


class NamedDeliveries:
    """The last MOST names of one hook, in `state` under `name` (without `state`: for the lifetime
    of the process). Signed data detects replays; these names only detect that the sender signed the
    same delivery again.
    """

    def __init__(self, state: TriggerState | None = None, name: str = "") -> None:
        self._state = state
        self._name = name
        self._keys: OrderedDict[str, None] | None = None
        self._loading = asyncio.Lock()

    async def has(self, key: str) -> bool:
        """Whether a delivery with this name was accepted. Raises StoreError."""
        return _short(key) in await self._loaded()

    async def add(self, key: str) -> None:
        """Record an accepted delivery. Raises StoreError."""
        keys = await self._loaded()
        keys[_short(key)] = None
        while len(keys) > MOST:
            keys.popitem(last=False)
        if self._state is not None:
            await self._state.keep(self._name, msgspec.json.encode(list(keys)))

    async def _loaded(self) -> OrderedDict[str, None]:
        async with self._loading:
            if self._keys is None:
                kept = None if self._state is None else await self._state.kept(self._name)
                names = msgspec.json.decode(kept, type=list[str]) if kept else []
                self._keys = OrderedDict.fromkeys(names)
            return self._keys


def _short(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
