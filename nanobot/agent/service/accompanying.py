"""What accompanies runs: ids on the lines of the log, headers on requests, and what was kept of the
request that brought a message."""

from __future__ import annotations

import msgspec

from nanobot.agent.active_run import ActiveRun
from nanobot.agent.runner import Begun
from nanobot.agent.service.log_ids import begin_log_of
from nanobot.agent.service.sending import begin_sending_of
from nanobot.propagation import Propagation, received
from nanobot.session.inbox import Admission


def accompanied(propagation: Propagation) -> Begun:
    """From the beginning of each run, its lines and requests belong to it."""

    def begun(active: ActiveRun) -> None:
        begin_log_of(active)
        begin_sending_of(active, propagation)

    return begun


async def with_kept(admission: Admission) -> Admission:
    """The message with what is kept of the request that this task received. See Bus.arrivals."""
    kept = received()
    if not kept:
        return admission
    message = msgspec.structs.replace(admission.message, kept=kept)
    return msgspec.structs.replace(admission, message=message)
