"""Counts and times the runs of this process from their events.

An event costs a few dictionary lookups; the store is queried only when metrics are collected.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from nanobot.bus.core import Bus, Subscription
from nanobot.messages import EventKind, RunEvent, RunPayload
from nanobot.plugins.common.faces import Metric
from nanobot.plugins.common.runs.run_client import ENDED
from nanobot.plugins.metrics import families
from nanobot.plugins.metrics.series import Series

_KINDS = frozenset(
    {EventKind.STATUS, EventKind.END, EventKind.TOOL_RESULT, EventKind.ASSISTANT_MESSAGE}
)
_TOKENS = ("prompt", "completion")
_MOST_RUNS = 2_000


class Ended(NamedTuple):
    """An ended run: its messages, and the key of its answer."""

    run_id: str
    channel: str
    inbound_ids: tuple[int, ...]
    reply_key: str


class _Turn:
    """A run in progress: when its current work began, and how long it worked before."""

    __slots__ = ("before", "began", "channel", "inbound_ids", "reply_key", "spoke")

    def __init__(self, channel: str, payload: RunPayload) -> None:
        self.channel = channel
        self.inbound_ids = tuple(payload.get("inbound_ids", ()))
        self.reply_key = payload.get("reply_key", "")
        self.began: float | None = None
        self.before = 0.0
        self.spoke = False

    def worked(self, now: float) -> float:
        return self.before + (0.0 if self.began is None else now - self.began)


class Meter(Subscription):
    """Counts the runs of this process from the moment it starts watching."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(None, _KINDS)
        self._monotonic = monotonic
        self._turns: dict[str, _Turn] = {}
        self.ended: deque[Ended] = deque(maxlen=_MOST_RUNS)
        """Runs whose messages and answers still have to be timed from their rows in the store."""
        self.runs = Series(families.RUNS, *((str(state),) for state in sorted(ENDED)))
        self.tools = Series(families.TOOL_CALLS)
        self.model_calls = Series(families.MODEL_CALLS, ())
        self.tokens = Series(families.TOKENS, *((kind,) for kind in _TOKENS))
        self.cached = Series(families.CACHED, ())
        self.cost = Series(families.COST, ())
        self.turn = Series(families.TURN)
        self.first_word = Series(families.FIRST_WORD)
        self.model_call = Series(families.MODEL_CALL)
        self.tool_call = Series(families.TOOL_CALL)
        self.to_claim = Series(families.TO_CLAIM)
        self.to_receipt = Series(families.TO_RECEIPT)
        self.transaction = Series(families.TRANSACTION)
        self.sync = Series(families.SYNC)
        self.lag = Series(families.LAG)

    def metrics(self) -> list[Metric]:
        """All current values."""
        return [each.metric() for each in vars(self).values() if isinstance(each, Series)]

    def offer(self, event: RunEvent) -> None:
        payload = event.payload
        match event.kind:
            case EventKind.STATUS:
                self._status(event)
            case EventKind.ASSISTANT_MESSAGE:
                self.model_calls.add(1)
                if "ms" in payload:
                    self._answered(event, payload["ms"] / 1000, payload.get("first_ms", 0) / 1000)
            case EventKind.TOOL_RESULT:
                name = payload.get("name", "")
                self.tools.add(1, name, "ok" if payload.get("ok") else "failed")
                self.tool_call.observe(payload.get("ms", 0) / 1000, name)
            case EventKind.END:
                self._end(event)
            case _:
                pass

    def _status(self, event: RunEvent) -> None:
        state, payload = event.payload.get("state"), event.payload
        if state == "running" and "address" in payload:
            turn = self._turns.pop(event.run_id, None) or _Turn(payload["address"].channel, payload)
            turn.before, turn.began = turn.worked(turn.began or 0.0), self._monotonic()
            self._turns[event.run_id] = turn
            if len(self._turns) > _MOST_RUNS:
                del self._turns[next(iter(self._turns))]
        elif state == "waiting" and event.run_id in self._turns:
            turn = self._turns[event.run_id]
            turn.before, turn.began = turn.worked(self._monotonic()), None

    def _answered(self, event: RunEvent, seconds: float, first: float) -> None:
        self.model_call.observe(seconds, event.payload.get("model", ""))
        turn = self._turns.get(event.run_id)
        if turn is not None and not turn.spoke and event.payload.get("text"):
            turn.spoke = True
            spent = turn.worked(self._monotonic()) - seconds + first
            self.first_word.observe(spent, turn.channel)

    def _end(self, event: RunEvent) -> None:
        payload = event.payload
        self.runs.add(1, payload.get("state", ""))
        usage = payload.get("usage", {})
        for kind in _TOKENS:
            self.tokens.add(usage.get(f"{kind}_tokens", 0), kind)
        self.cached.add(usage.get("cached_tokens", 0))
        self.cost.add(payload.get("cost") or 0.0)
        turn = self._turns.pop(event.run_id, None)
        if turn is not None:
            ended = Ended(event.run_id, turn.channel, turn.inbound_ids, turn.reply_key)
            self.ended.append(ended)
            self.turn.observe(turn.worked(self._monotonic()), turn.channel)

    def take_ended(self) -> list[Ended]:
        """The runs that ended since the last call; the caller has to time them."""
        taken = list(self.ended)
        self.ended.clear()
        return taken

    def give_back(self, runs: Iterable[Ended]) -> None:
        """Return runs that cannot be timed yet."""
        self.ended.extend(runs)


_METERS: WeakKeyDictionary[Bus, Meter] = WeakKeyDictionary()


def watching(bus: Bus) -> Meter:
    """The meter of a gateway, to be registered for its events."""
    return meter_of(bus)


def meter_of(bus: Bus) -> Meter:
    """The single meter of a gateway."""
    return _METERS.setdefault(bus, Meter())
