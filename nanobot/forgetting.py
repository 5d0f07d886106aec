"""Caches in memory of what people said, which are emptied when something is erased."""

from __future__ import annotations

import weakref
from typing import Any, TypeVar

C = TypeVar("C")
_CACHES: list[weakref.ref[Any]] = []


def forgettable(cache: C) -> C:
    """The cache, a function of `lru_cache` or a table: `forget` empties it."""
    _CACHES.append(weakref.ref(cache, _CACHES.remove))
    return cache


def forget() -> None:
    """Empty all of them."""
    for each in _CACHES:
        if (cache := each()) is not None:
            (cache.cache_clear if hasattr(cache, "cache_clear") else cache.clear)()
