"""The trace context that a run sends with its requests, and that nanobot stores of the request that
began it.

A plugin decides both (`Plugin.propagation`). Without one, nanobot adds and stores nothing. The
plugin `traces`, on or off, has what it decides done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import msgspec

from nanobot.agent.accompanying import kept_of
from nanobot.agent.active_run import ActiveRun
from nanobot.app.agent import AgentParts
from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import PluginBroken
from nanobot.log_context import CALL, SENDING
from nanobot.log_context import Headers as Headers
from nanobot.seam.given import able, of_kind
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import Contributions
from nanobot.session.entries import ApprovalEntry
from nanobot.session.inbox import Admission

ASIDE = ""
"""The key for requests that belong to a run but to no call in its log."""
_RECEIVED: ContextVar[str] = ContextVar("_RECEIVED", default="")


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

    def bring(self, plugins: Contributions) -> None:
        """Have the plugin that says what accompanies the requests of runs do so. There is at most
        one."""

        def use(found: FoundPlugin, given: Any) -> None:
            if given is None:
                return
            able(given, Propagator)
            if self.propagator is not None:
                raise PluginBroken("another plugin says already what accompanies requests")
            self.propagator = _Contained(found.name, given)

        plugins.each("propagation", use)

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

    def begun(self, active: ActiveRun) -> None:
        """From now on, requests of this task and of those it starts belong to a run."""
        if self.propagator is not None:
            SENDING.set(_RunSending(active, self.propagator))


class _Contained:
    """A Propagator of a plugin. If it fails, requests are made and taken without it."""

    def __init__(self, name: str, propagator: Propagator) -> None:
        self._what = f"propagation of the plugin {name}"
        self._propagator = propagator

    def received(self, headers: Headers, *, trusted: bool) -> str:
        with boundary(self._what):
            return of_kind(self._propagator.received(headers, trusted=trusted), str)
        return ""

    def sent(self, step: Step) -> Headers:
        with boundary(self._what):
            sent = self._propagator.sent(step).items()
            return {of_kind(name, str): of_kind(value, str) for name, value in sent}
        return {}


class _RunSending:
    """What accompanies the requests of a run: asks the propagator about the step that makes one.
    See nanobot.log_context.Sending."""

    def __init__(self, active: ActiveRun, propagator: Propagator) -> None:
        self._active = active
        self._propagator = propagator

    def headers(self, key: str | None) -> Headers:
        active, call, index = self._active, 0, None
        if key is None:
            call = active.partial_reply().call
        elif key:
            call, index = map(int, key.rsplit(":", 2)[1:])
        waits = sum(isinstance(body, ApprovalEntry) for body in active.log.own)
        return self._propagator.sent(Step(active.run.id, kept_of(active), waits, call, index))

    def started(self, key: str | None) -> str:
        """What a run keeps that is started there."""
        return self._propagator.received(self.headers(key), trusted=False)


def received() -> str:
    """The stored part of the current request; "" if there is none."""
    return _RECEIVED.get()


async def with_kept(admission: Admission) -> Admission:
    """The message with what is kept of the request that this task received. See Bus.arrivals."""
    kept = received()
    if not kept:
        return admission
    message = msgspec.structs.replace(admission.message, kept=kept)
    return msgspec.structs.replace(admission, message=message)


def started() -> str:
    """What a run keeps that is started now by another one; "" if nothing."""
    sending = SENDING.get()
    return sending.started(CALL.get()) if isinstance(sending, _RunSending) else ""


def worker_objects(agent: AgentParts, bus: Bus, plugins: Contributions) -> Mapping[Any, Any]:
    """The propagation of a gateway, of which HTTP tells what requests come with."""
    propagation = Propagation()
    propagation.bring(plugins)
    if propagation.propagator is not None:
        agent.begun.append(propagation.begun)
        bus.arrivals.append(with_kept)
    return {Propagation: propagation}
