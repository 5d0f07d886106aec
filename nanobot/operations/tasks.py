"""Background runs of a session, for the operations that end it."""

from __future__ import annotations

from nanobot.operations.operation import OperationContext
from nanobot.session.runs import Ending
from nanobot.session.states import RunState


async def cancel_children(
    context: OperationContext, session: str, sender_id: str | None, by: str
) -> int:
    """End the background runs that a session (or one person there) started; returns how many."""
    engine, count = context.engine, 0
    for run_id in await engine.tasks.children(session, sender_id):
        ended = await engine.records.cancel(
            run_id, Ending(state=RunState.ABORTED, error="stopped"), by
        )
        if ended is not None:
            count += 1
            engine.bus.stopped(ended)
            engine.bus.wake(ended.session_key, ended.kind)
    return count
