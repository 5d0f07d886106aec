"""The operation that starts a background run again."""

from __future__ import annotations

import os

import msgspec

from nanobot.errors import NanobotError
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.plugins.common.runs.background_runs import TaskRecords, TaskStarter
from nanobot.plugins.common.runs.run_ids import RunId, run_of, runs_in
from nanobot.plugins.common.views.views import RunView
from nanobot.session.states import RunState


def operations() -> list[Operation]:
    """`runs retry`."""
    return [retry_run]


@operation("runs retry", example="01m80aj3rq")
async def retry_run(
    context: OperationContext,
    caller: Caller,
    id: RunId,
) -> RunView:
    """Retry a background run that failed or was cancelled.

    The new run has the same input.
    """
    run = await run_of(context, caller, id)
    request = await context.of(TaskRecords).again(run.id)  # type: ignore[type-abstract]
    if request is None:
        raise NanobotError(f"Run {run.id} answered a message: send the message again instead.")
    if run.state not in (RunState.FAILED, RunState.ABORTED):
        raise NanobotError(f"Run {run.id} is {run.state}: only failed runs can be retried.")
    key = f"retry:{run.id}:{caller.key or os.urandom(12).hex()}"
    starter = context.of(TaskStarter)  # type: ignore[type-abstract]
    started = await starter.start(msgspec.structs.replace(request, key=key))
    view = await runs_in(context).run(started)
    if view is None:
        raise NanobotError(f"Run {started} was deleted.")
    return view
