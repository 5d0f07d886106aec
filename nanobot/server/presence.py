"""Which other processes live, and what each of them does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from nanobot.messages import TERMINAL
from nanobot.ports import Clock
from nanobot.server.signals import Gone, Here, Watches

GONE_SECONDS = 7.0
"""One that says that it lives is not counted on when it was not heard of for so long."""
UNSEEN_SECONDS = 25.0
"""One that beats is not counted on when the store has not shown it for so long."""


class Peer:
    """What is known of another process."""

    def __init__(self) -> None:
        self.here = Here("", drives=False, schedules=False, serves=())
        self.heard = 0.0
        self.watches: dict[str, float] = {}

    @property
    def patience(self) -> float:
        """Seconds after which it is not counted on any more."""
        return UNSEEN_SECONDS if self.here.beats else GONE_SECONDS

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
        gone = [name for name, peer in self._peers.items() if now - peer.heard > peer.patience]
        for name in gone:
            del self._peers[name]
        for peer in self._peers.values():
            old = [key for key, at in peer.watches.items() if now - at >= GONE_SECONDS]
            for key in old:
                del peer.watches[key]
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
        return news

    def seen(self, name: str) -> bool:
        """One of them lives, as the store shows. False: it is not known here."""
        peer = self._peers.get(name)
        if peer is not None:
            peer.heard = self._clock.monotonic()
        return peer is not None

    def drop(self, name: str) -> bool:
        """One of them is dead, or does nothing; whether it was counted on."""
        return self._peers.pop(name, None) is not None

    def duties_of(self, name: str) -> frozenset[str]:
        """What only one process does at a time, and that one did when it was heard last."""
        peer = self._peers.get(name)
        if peer is None:
            return frozenset()
        scheduling = {"(scheduler)"} if peer.here.schedules else set()
        return frozenset(peer.here.serves) | scheduling

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
