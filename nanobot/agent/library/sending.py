"""What accompanies the requests of a run: asks the propagator about the step that makes one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from nanobot.propagation import Headers, Propagation, Propagator, Step, begin_sending
from nanobot.session.entries import ApprovalEntry

if TYPE_CHECKING:
    from nanobot.agent.active_run import ActiveRun


def begin_sending_of(active: ActiveRun, propagation: Propagation) -> None:
    """From now on, requests of this task and of those it starts belong to a run."""
    if propagation.propagator is not None:
        begin_sending(partial(_sent, active, propagation.propagator))


def _sent(active: ActiveRun, propagator: Propagator, key: str | None) -> Headers:
    call, index = 0, None
    if key is None:
        call = active.partial_reply().call
    elif key:
        call, index = map(int, key.rsplit(":", 2)[1:])
    waits = sum(isinstance(body, ApprovalEntry) for body in active.log.own)
    return propagator.sent(Step(active.run.id, active.kept, waits, call, index))
