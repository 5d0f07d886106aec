"""The trace context that a run sends with its requests, and that nanobot stores of the request that
began it.

A plugin decides both (`Plugin.propagation`). Without one, nanobot adds and stores nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeAlias

import msgspec

Headers: TypeAlias = Mapping[str, str]

NOTHING: Headers = {}


class Step(msgspec.Struct, frozen=True):
    """The step of a run that makes a request."""

    run_id: str
    kept: str = ""
    """The stored part of the request that began the run."""
    waits: int = 0
    """How often the run has waited for a person."""
    call: int = 0
    """The model call; 0: none."""
    index: int | None = None
    """The tool call of that model call's answer."""


class Propagator(Protocol):
    """Decides what to add and to store."""

    def received(self, headers: Headers, *, trusted: bool) -> str:
        """What to keep of an incoming request; `headers` have lower-case names. `trusted`: an owner
        sent it. It is stored with the message, so it must be short.
        """

    def sent(self, step: Step) -> Headers:
        """The headers for the requests of a step, with lower-case names."""


class Propagation:
    """A gateway's propagator, if a plugin brings one."""

    def __init__(self) -> None:
        self.propagator: Propagator | None = None

    @contextmanager
    def receiving(self, headers: Callable[[], Headers], *, trusted: bool) -> Iterator[None]:
        """Messages that are admitted within this context came with a request with these headers."""
        if self.propagator is None:
            yield
            return
        kept = self.propagator.received(headers(), trusted=trusted)
        before = _RECEIVED.set(kept)
        try:
            yield
        finally:
            _RECEIVED.reset(before)


class Sending(Protocol):
    """What accompanies the requests of one run. `key`: that of the tool call that makes a request,
    ASIDE, or None for a model call of the run."""

    def headers(self, key: str | None) -> Headers:
        """The headers for a request."""

    def started(self, key: str | None) -> str:
        """What a run keeps that is started there; as `Propagator.received`."""


_RECEIVED: ContextVar[str] = ContextVar("_RECEIVED", default="")
_SENDING: ContextVar[Sending | None] = ContextVar("_SENDING", default=None)
_CALL: ContextVar[str | None] = ContextVar("_CALL", default=None)


def received() -> str:
    """The stored part of the current request; "" if there is none."""
    return _RECEIVED.get()


def begin_sending(sending: Sending) -> None:
    """From now on, requests of this task and of those it starts belong to the run of `sending`."""
    _SENDING.set(sending)


@contextmanager
def calling(key: str) -> Iterator[None]:
    """Requests within this context belong to the tool call with this key."""
    before = _CALL.set(key)
    try:
        yield
    finally:
        _CALL.reset(before)


ASIDE = ""
"""The key for requests that belong to a run but to no call in its log."""


def sent() -> Headers:
    """The headers to add to a request that is made now."""
    sending = _SENDING.get()
    return NOTHING if sending is None else sending.headers(_CALL.get())


def started() -> str:
    """What a run keeps that is started now by another one; "" if nothing."""
    sending = _SENDING.get()
    return "" if sending is None else sending.started(_CALL.get())
