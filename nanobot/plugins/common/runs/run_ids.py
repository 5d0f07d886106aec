"""Runs by their ids, or by the beginnings of these, for whoever may see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta

from nanobot.errors import UnknownId, UsageError
from nanobot.messages import Role
from nanobot.operations.operation import Caller, OperationContext
from nanobot.operations.parameters import Positional
from nanobot.plugins.common.views.views import RunView

if TYPE_CHECKING:
    from nanobot.plugins.common.store.run_ids import RunIds
    from nanobot.plugins.common.store.runs import StoredRuns

RunId: TypeAlias = Annotated[
    Positional, Meta(description="The run's id, or a unique beginning of it.")
]
_MOST_NAMED = 3


def runs_in(context: OperationContext) -> StoredRuns:
    """The runs of the gateway in which an operation runs."""
    from nanobot.plugins.common.store.runs import StoredRuns  # noqa: PLC0415 - loads the store
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    return StoredRuns(store.database, store.writer)


async def run_of(context: OperationContext, caller: Caller, name: str) -> RunView:
    """The run of that id that the caller may see, or the only one whose id begins so; others have
    to give it whole. Raises NanobotError."""
    runs = runs_in(context)
    run = await runs.run(name)
    if caller.role is not Role.OWNER:
        if run is None or not _is_seen(caller, run):
            raise no_run_of_theirs(name)
        return run
    if run is not None:
        return run
    ids = await _ids(context).beginning(name.lower(), _MOST_NAMED + 1)
    run = await runs.run(ids[0]) if len(ids) == 1 else None
    if run is None and ids:
        names = ", ".join(ids[:_MOST_NAMED]) + (" ..." if len(ids) > _MOST_NAMED else "")
        raise UsageError(f"{name} matches several runs: {names}")
    if run is None:
        raise UnknownId(f"There is no run {name}; `runs list` lists them.")
    return run


def no_run_of_theirs(name: str) -> UnknownId:
    """The error for a run of others, which is also that for no run."""
    return UnknownId(f"You have no run {name}.")


def _ids(context: OperationContext) -> RunIds:
    from nanobot.plugins.common.store.run_ids import RunIds  # noqa: PLC0415 - loads the store
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    return RunIds(store.database, store.writer)


def _is_seen(caller: Caller, run: RunView) -> bool:
    """Whether somebody may see a run: it is of their conversation, or was started there."""
    return any(caller.sees(key) for key in (run.session_key, run.parent_session) if key)
