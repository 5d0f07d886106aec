"""Operations on background runs, beside those on all runs."""

from __future__ import annotations

import os
from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.session.views import RunView


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


@operation("runs retry")
async def retry_run(
    context: OperationContext,
    caller: Caller,
    id: Annotated[Positional, Meta(description="The run.")],
) -> RunView:
    """Starts a background run again that failed or was cancelled."""
    engine = context.engine
    run = await engine.records.run(id)
    if run is None:
        raise NanobotError(f"There is no run {id}; `runs list` shows those there are.")
    request = await engine.tasks.again(id)
    if request is None:
        raise NanobotError(f"Run {id} answered a message: say it again instead.")
    if run.state not in (RunState.FAILED, RunState.ABORTED):
        raise NanobotError(f"Run {id} is {run.state}: only failed ones are tried again.")
    key = f"retry:{id}:{caller.key or os.urandom(12).hex()}"
    started = await engine.starter.start(msgspec.structs.replace(request, key=key))
    view = await engine.records.run(started)
    if view is None:
        raise NanobotError(f"Run {started} was deleted.")
    return view
