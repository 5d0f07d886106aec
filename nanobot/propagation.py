"""What accompanies the requests of a run, and what is kept of the request that began it.

A plugin decides both (`Plugin.propagation`). Without such a plugin nothing is added or kept.
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
    """The step of a run that makes a request: a model call, or with `index` a tool call of its
    answer. `call` 0: neither of them. `kept`: what was kept of the request that began the run.
    `waits`: how often the run has waited for a person.
    """

    run_id: str
    kept: str = ""
    waits: int = 0
    call: int = 0
    index: int | None = None


class Propagator(Protocol):
    """Decides what is added and kept."""

    def received(self, headers: Headers, *, trusted: bool) -> str:
        """What to keep of an incoming request; `headers` have lower-case names. `trusted`: an owner
        sent it. It is stored with the message, so it must be short.
        """
        ...

    def sent(self, step: Step) -> Headers:
        """The headers for the requests of a step, with lower-case names."""
        ...


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


Sending: TypeAlias = Callable[[str | None], Headers]


def _nothing(_: str | None) -> Headers:
    return NOTHING


_RECEIVED: ContextVar[str] = ContextVar("_RECEIVED", default="")
_SENDING: ContextVar[Sending] = ContextVar("_SENDING", default=_nothing)
_CALL: ContextVar[str | None] = ContextVar("_CALL", default=None)


def received() -> str:
    """What is kept of the request that is being handled; "" if nothing is."""
    return _RECEIVED.get()


def begin_sending(sending: Sending) -> None:
    """From now on, `sending` gives the headers for requests of this task and of those it starts. It
    gets the key of the tool call or ASIDE, and None for a model call of the run.
    """
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
    return _SENDING.get()(_CALL.get())


def sent_as_variables() -> Headers:
    """The same for a command: as environment variables."""
    return {name.upper().replace("-", "_"): value for name, value in sent().items()}
