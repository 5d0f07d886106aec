"""What accompanies the requests of a run: asks the propagator about the step that makes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanobot.propagation import Headers, Propagation, Propagator, Step, begin_sending
from nanobot.session.entries import ApprovalEntry

if TYPE_CHECKING:
    from nanobot.agent.active_run import ActiveRun


def begin_sending_of(active: ActiveRun, propagation: Propagation) -> None:
    """From now on, requests of this task and of those it starts belong to a run."""
    if propagation.propagator is not None:
        begin_sending(_RunSending(active, propagation.propagator))


def kept_of(active: ActiveRun) -> str:
    """What was kept of the request that began a run; see nanobot.propagation."""
    return next((message.kept for message in active.messages if message.kept), "")


class _RunSending:
    """See nanobot.propagation.Sending."""

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
        return self._propagator.received(self.headers(key), trusted=False)
