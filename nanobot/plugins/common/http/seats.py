"""Allocates HTTP connections, so that no group of clients uses them all."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable

_UNKNOWN, _OTHERS, _EACH = 0.25, 0.5, 0.25
"""Fractions of all seats: for clients that are not authenticated yet, for all callers but owners
together, and for each of these. The rest is for owners.
"""


class Seats:
    """The seats of `most` connections. A connection takes one when it begins, and is identified by
    the first authenticated request. If there are too many unauthenticated connections, the oldest
    is closed: a client with a token authenticates at once, and no other client needs to stay.
    """

    def __init__(self, most: int) -> None:
        self._most = {
            "unknown": max(int(most * _UNKNOWN), 1),
            "others": max(int(most * _OTHERS), 1),
            "each": max(int(most * _EACH), 1),
        }
        self._unknown: OrderedDict[Hashable, Callable[[], None]] = OrderedDict()
        self._known: dict[Hashable, str] = {}
        self._held: Counter[str] = Counter()

    def take(self, connection: Hashable, leave: Callable[[], None]) -> None:
        """A connection began; `leave` ends it."""
        self._unknown[connection] = leave
        if len(self._unknown) > self._most["unknown"]:
            _, oldest = self._unknown.popitem(last=False)
            oldest()

    def know(self, connection: Hashable, name: str, *, owner: bool) -> bool:
        """An authenticated caller uses a connection; returns whether they may keep it."""
        if self._known.get(connection) == name:
            return True
        if not owner:
            crowded = self._held[name] >= self._most["each"]
            if crowded or self._held.total() >= self._most["others"]:
                return False
        self.leave(connection)
        self._known[connection] = "" if owner else name
        if not owner:
            self._held[name] += 1
        return True

    def leave(self, connection: Hashable) -> None:
        """A connection has ended."""
        self._unknown.pop(connection, None)
        name = self._known.pop(connection, "")
        if name:
            self._held[name] -= 1
            self._held += Counter()  # without those that hold none
