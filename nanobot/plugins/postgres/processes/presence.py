"""Which other processes are alive, and what each of them does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from nanobot.messages import TERMINAL
from nanobot.plugins.postgres.processes.signals import Gone, Here, Watches
from nanobot.plugins.postgres.processes.this_process import ThisProcess
from nanobot.ports import Clock

GONE_SECONDS = 7.0
"""A process that announces itself is not relied on after this long without a signal."""
UNSEEN_SECONDS = 25.0
"""A process that beats is not relied on after the store has not shown it for this long."""


class Peer:
    """The known state of another process."""

    def __init__(self) -> None:
        self.here = Here("", drives=False, schedules=False, serves=())
        self.heard = 0.0
        self.watches: dict[str, float] = {}

    @property
    def patience(self) -> float:
        """Seconds after which it is no longer relied on."""
        return UNSEEN_SECONDS if self.here.beats else GONE_SECONDS

    def delivers(self, channel: str) -> bool:
        """Whether it serves chats of a channel. Terminals are served by every process: the one that
        the person uses.
        """
        if channel == TERMINAL:
            return bool(self.watches)
        return channel in self.here.serves


class Presence:
    """The other processes, by their latest signals."""

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
        """Record one's introduction; returns the channels that it has begun to serve."""
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
        """The store shows that one of them is alive. Returns False if it is unknown here."""
        peer = self._peers.get(name)
        if peer is not None:
            peer.heard = self._clock.monotonic()
        return peer is not None

    def drop(self, name: str) -> bool:
        """One of them is dead or inactive; returns whether it was relied on."""
        return self._peers.pop(name, None) is not None

    def duties_of(self, name: str) -> frozenset[str]:
        """Work that only one process does at a time, and that one did at its last signal."""
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
        """Whether this process is the one to claim a free lane, among all that drive lanes: each of
        them comes to the same answer.
        """
        rivals = (name for name, peer in self.alive().items() if peer.here.drives)
        own = _weight(self._own, session_key)
        return all(_weight(name, session_key) < own for name in rivals)


def here_of(this: ThisProcess, name: str) -> Here:
    """The introduction of this process under that name."""
    return Here(
        name,
        this.drives(),
        this.schedules(),
        tuple(this.serves()),
        speaks=tuple(this.speaks()),
        beats=True,
    )


def _weight(name: str, session_key: str) -> bytes:
    return hashlib.blake2b(f"{name}/{session_key}".encode(), digest_size=8).digest()
