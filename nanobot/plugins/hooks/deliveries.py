"""Which deliveries a hook has taken, by the names that senders give them without signing them."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict

import msgspec

from nanobot.triggers.state import TriggerState

MOST = 1_000
"""So many names of deliveries a hook remembers."""


class NamedDeliveries:
    """The last MOST of one hook, in `state` under `name` (without one: as long as the process
    lives). What is signed tells a replay; these only tell that a sender signed the same again."""

    def __init__(self, state: TriggerState | None = None, name: str = "") -> None:
        self._state = state
        self._name = name
        self._keys: OrderedDict[str, None] | None = None
        self._loading = asyncio.Lock()

    async def has(self, key: str) -> bool:
        """Whether a delivery of this name was taken. Raises StoreError."""
        return _short(key) in await self._loaded()

    async def add(self, key: str) -> None:
        """One was. Raises StoreError."""
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
