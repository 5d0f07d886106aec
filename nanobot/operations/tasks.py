"""Operations on background runs, beside those on all runs."""

from __future__ import annotations

import os
from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError
from nanobot.operations.operation import Arguments, Caller, First, Operation, OperationContext
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.session.views import RunView


class _Run(Arguments, frozen=True, kw_only=True):
    id: Annotated[First, Meta(description="The run.")]


async def cancel_children(
    operations: OperationContext, session: str, sender_id: str | None, by: str
) -> int:
    """End the background runs that a session (or one person there) started; returns how many."""
    engine, count = operations.engine, 0
    for run_id in await engine.tasks.children(session, sender_id):
        ended = await engine.records.cancel(
            run_id, Ending(state=RunState.ABORTED, error="stopped"), by
        )
        if ended is not None:
            count += 1
            engine.bus.stopped(ended)
            engine.bus.wake(ended.session_key, ended.kind)
    return count


async def _again(operations: OperationContext, caller: Caller, asked: _Run) -> RunView:
    engine = operations.engine
    found = await engine.records.run(asked.id)
    if found is None:
        raise NanobotError(f"There is no run {asked.id}; `runs list` shows those there are.")
    wanted = await engine.tasks.again(asked.id)
    if wanted is None:
        raise NanobotError(f"Run {asked.id} answered a message: say it again instead.")
    if found.state not in (RunState.FAILED, RunState.ABORTED):
        raise NanobotError(f"Run {asked.id} is {found.state}: only failed ones are tried again.")
    key = f"retry:{asked.id}:{caller.key or os.urandom(12).hex()}"
    started = await engine.starter.start(msgspec.structs.replace(wanted, key=key))
    made = await engine.records.run(started)
    if made is None:
        raise NanobotError(f"Run {started} was deleted.")
    return made


TASKS: tuple[Operation, ...] = (
    Operation(
        name="runs retry",
        help="starts a background run again that failed or was cancelled",
        run=_again,
        arguments=_Run,
        returns=RunView,
    ),
)
