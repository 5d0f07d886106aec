"""What accompanies runs: ids on the lines of the log, headers on requests, and what was kept of the
request that brought a message."""

from __future__ import annotations

from functools import partial

import msgspec

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.runner import Begun
from nanobot.log_context import LOG_IDS, Ids
from nanobot.propagation import Headers, Propagation, Propagator, Step, begin_sending, received
from nanobot.session.entries import ApprovalEntry
from nanobot.session.inbox import Admission


def accompanied(propagation: Propagation) -> Begun:
    """From the beginning of each run, its lines and requests belong to it."""

    def begun(active: ActiveRun) -> None:
        begin_log_of(active)
        if propagation.propagator is not None:
            begin_sending(_RunSending(active, propagation.propagator))

    return begun


async def with_kept(admission: Admission) -> Admission:
    """The message with what is kept of the request that this task received. See Bus.arrivals."""
    kept = received()
    if not kept:
        return admission
    message = msgspec.structs.replace(admission.message, kept=kept)
    return msgspec.structs.replace(admission, message=message)


def begin_log_of(active: ActiveRun) -> None:
    """From now on, lines of this task and of those it starts belong to a run."""
    LOG_IDS.set(partial(_ids_of, active))


def _ids_of(active: ActiveRun) -> Ids:
    messages = [message.inbound_id for message in active.messages]
    ids: dict[str, object] = {"session": active.run.session_key, "run": active.run.id}
    if messages:
        ids["messages"] = messages
    if call := active.partial_reply().call:
        ids["call"] = call
    if kept := _kept_of(active):
        ids["kept"] = kept
    return ids


def _kept_of(active: ActiveRun) -> str:
    """What was kept of the request that began a run; see nanobot.propagation."""
    return next((message.kept for message in active.messages if message.kept), "")


class _RunSending:
    """What accompanies the requests of a run: asks the propagator about the step that makes one.
    See nanobot.propagation.Sending."""

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
        return self._propagator.sent(Step(active.run.id, _kept_of(active), waits, call, index))

    def started(self, key: str | None) -> str:
        return self._propagator.received(self.headers(key), trusted=False)
