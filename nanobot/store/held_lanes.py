"""The lanes that callers in this process hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from nanobot.session.runs import Lane


class Head(NamedTuple):
    """The end of a session's log, as the holder of its lane left it."""

    head_seq: int
    head_hash: bytes


class Hold:
    """A caller's hold on a lane, from its call until it releases the lane."""

    __slots__ = ("_lanes", "ended", "head", "lane")

    def __init__(self, lanes: HeldLanes) -> None:
        self.lane: Lane | None = None
        self.head: Head | None = None
        self.ended = False
        self._lanes = lanes

    def release(self) -> None:
        """Release what the caller took, if anything."""
        if self.lane is not None:
            self._lanes.let_go(self.lane)


class HeldLanes:
    """The lanes that callers in this process hold.

    A lane that is ours by its row but missing here is free: its claimant was cancelled before it
    received the result, or failed, or the commit was reported as failed. `take` is called on the
    store's threads, everything else on the event loop. In whatever order they come, a hold that has
    ended leaves nothing behind.
    """

    def __init__(self) -> None:
        self._holds: dict[str, Hold] = {}

    @contextmanager
    def taking(self) -> Iterator[Hold]:
        """Wraps the verb that takes a lane: a call that fails or is cancelled holds nothing."""
        hold = Hold(self)
        try:
            yield hold
        except BaseException:
            hold.ended = True
            self._drop(hold)
            raise

    def take(self, hold: Hold, lane: Lane) -> None:
        """Record that the caller holds the lane, if it is still waiting for it."""
        hold.lane = lane
        self._holds[lane.session_key] = hold
        if hold.ended:
            self._drop(hold)

    def let_go(self, lane: Lane) -> None:
        """No caller here holds it any more."""
        hold = self._holds.get(lane.session_key)
        if hold is not None and hold.lane == lane:
            self._drop(hold)

    def has(self, session_key: str, token: int) -> bool:
        """Whether a caller here holds the lane with that token."""
        hold = self._holds.get(session_key)
        return hold is not None and hold.lane == Lane(session_key, token)

    def head(self, lane: Lane) -> Head | None:
        """The head noted for a lane where processes share the store. It may have moved on."""
        hold = self._holds.get(lane.session_key)
        return hold.head if hold is not None and hold.lane == lane else None

    def note(self, lane: Lane, head: Head | None) -> None:
        """Note the head of the lane's log, if a caller here holds the lane; None: unknown."""
        hold = self._holds.get(lane.session_key)
        if hold is not None and hold.lane == lane:
            hold.head = head

    def drives(self, session_key: str) -> bool:
        """Whether a caller here holds the session's lane."""
        return session_key in self._holds

    def all(self) -> list[Lane]:
        """Every lane that callers here hold."""
        return [hold.lane for hold in list(self._holds.values()) if hold.lane is not None]

    def _drop(self, hold: Hold) -> None:
        lane = hold.lane
        if lane is not None and self._holds.get(lane.session_key) is hold:
            del self._holds[lane.session_key]
