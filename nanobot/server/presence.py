"""Which other processes live, and what each of them does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from nanobot.messages import TERMINAL
from nanobot.ports import Clock
from nanobot.server.signals import Gone, Here, Watches

GONE_SECONDS = 7.0
"""Whoever was not heard of for so long is not counted on any more."""


class Peer:
    """What is known of another process."""

    def __init__(self) -> None:
        self.here = Here("", drives=False, schedules=False, serves=())
        self.heard = 0.0
        self.watches: dict[str, float] = {}

    def delivers(self, channel: str) -> bool:
        """Whether chats of a channel are served there. Terminals are by each process: by the one
        that somebody looks at."""
        if channel == TERMINAL:
            return bool(self.watches)
        return channel in self.here.serves


class Presence:
    """The others, by what was heard of them lately."""

    def __init__(self, own: str, clock: Clock) -> None:
        self._own = own
        self._clock = clock
        self._peers: dict[str, Peer] = {}

    def alive(self) -> dict[str, Peer]:
        """By their names."""
        now = self._clock.monotonic()
        gone = [name for name, peer in self._peers.items() if now - peer.heard > GONE_SECONDS]
        for name in gone:
            del self._peers[name]
        return self._peers

    def take(self, sender: str, signal: Here | Gone | Watches) -> frozenset[str]:
        """What one of them says of itself; the channels that it has begun to serve."""
        if isinstance(signal, Gone):
            self._peers.pop(sender, None)
            return frozenset()
        now = self._clock.monotonic()
        peer = self._peers.setdefault(sender, Peer())
        peer.heard = now
        if isinstance(signal, Watches):
            peer.watches |= dict.fromkeys(signal.sessions, now)
            return frozenset()
        news = frozenset(signal.serves) - frozenset(peer.here.serves)
        peer.here = signal
        peer.watches = {key: at for key, at in peer.watches.items() if now - at < GONE_SECONDS}
        return news

    def drive(self) -> bool:
        """Whether any of them drives lanes."""
        return any(peer.here.drives for peer in self.alive().values())

    def served(self) -> set[str]:
        """The channels that they serve."""
        return {name for peer in self.alive().values() for name in peer.here.serves}

    def watching(self, session_key: str) -> Iterator[str]:
        for name, peer in self.alive().items():
            if session_key in peer.watches:
                yield name

    def first_for(self, session_key: str) -> bool:
        """Whether we, of all that drive lanes, are the one to take a lane that nobody has: each of
        them comes to the same answer."""
        rivals = (name for name, peer in self.alive().items() if peer.here.drives)
        own = _weight(self._own, session_key)
        return all(_weight(name, session_key) < own for name in rivals)


def _weight(name: str, session_key: str) -> bytes:
    return hashlib.blake2b(f"{name}/{session_key}".encode(), digest_size=8).digest()
