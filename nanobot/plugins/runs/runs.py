"""Operations on runs: list them, show one step by step, cancel one."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from nanobot.errors import NanobotError
from nanobot.messages import Role
from nanobot.operations.conversation import stopped_notice
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Find, Limit
from nanobot.operations.rendering import Now, as_text
from nanobot.operations.run_states import as_people_see
from nanobot.plugins.common.runs.ratings import ratings_among
from nanobot.plugins.common.runs.run_ids import RunId, run_of, runs_in
from nanobot.plugins.common.runs.timeline import RunPage, Times, timeline_of
from nanobot.plugins.common.views.remarks import as_entry, remarks_of
from nanobot.plugins.common.views.sessions import check_sight, log_lines
from nanobot.plugins.common.views.views import RunView
from nanobot.plugins.runs.outbox import outbox_of
from nanobot.plugins.runs.waterfall import waterfall_lines
from nanobot.seam.offers import Contributions
from nanobot.session.runs import Ending
from nanobot.session.states import RunKind, RunState
from nanobot.text import Sentence

_BY_WORD = {
    as_people_see(state): str(state)
    for state in (RunState.AWAITING_HUMAN, RunState.COMPLETED, RunState.ABORTED)
}


@operation(
    "runs list",
    reads=True,
    role=Role.MEMBER,
    example="state=failed",
    shows=("runs", "tasks"),
)
async def list_runs(  # noqa: PLR0913 - each is one argument of people
    context: OperationContext,
    caller: Caller,
    session: Annotated[str, Meta(description="Filter by session.")] = "",
    state: Annotated[
        Literal[
            "",
            "live",
            "queued",
            "preparing",
            "model_running",
            "tool_running",
            "awaiting_human",
            "completed",
            "failed",
            "aborted",
            "waiting",
            "succeeded",
            "cancelled",
        ],
        Meta(description="Filter by state."),
    ] = "",
    kind: Annotated[Literal["", "chat", "task"], Meta(description="Filter by kind.")] = "",
    find: Find = "",
    limit: Limit = 20,
) -> list[RunView]:
    """List runs, newest first.

    `find` searches session names, titles and errors of the latest 10,000 runs. Background runs that
    a session started are listed with it. The state `live` means every run that has not ended.
    """
    if session:
        check_sight(caller, session)
    return await runs_in(context).listed(
        session=session,
        state=_BY_WORD.get(state, state),
        limit=limit,
        kind=kind,
        find=find,
        within=None if session else caller.sessions,
    )


def page_text(page: RunPage, now: Now) -> Sentence:
    """What a run is, its longest steps, then its entries and the verdicts on it."""
    lines = [as_text(page.run, now), "", *waterfall_lines(page)]
    lines += log_lines(page.remarks, page.entries, now)
    if page.feedback:
        lines += ["", as_text(list(page.feedback), now)]
    return "\n".join(lines)


@operation("runs show", reads=True, role=Role.MEMBER, text=page_text, example="01m80aj3rq")
async def show_run(context: OperationContext, caller: Caller, id: RunId) -> RunPage:
    """Show a run step by step.

    Above the log entries is a waterfall of the 40 longest steps: model calls with the time to the
    first word, tokens and cost, tools, waits and the delivery. The first line says what took most
    of a run of more than a second. `cut off` means interrupted by a crash. Lines that begin with
    `!` are remarks of plugins.
    """
    run, engine = await run_of(context, caller, id), context.engine
    views = await runs_in(context).entries(run.id)
    entries = [as_entry(view) for view in views]
    times = Times(run_id=run.id, created_at=run.created_at, ended_at=run.ended_at)
    sent = await outbox_of(context).deliveries(run.id)
    contributions = context.offered(Contributions)  # type: ignore[type-abstract]
    return RunPage(
        run=run,
        entries=views,
        feedback=tuple(ratings_among(entries)),
        timeline=timeline_of(times, entries, sent, engine.now()),
        remarks=await remarks_of(contributions).on(run.id, views),
    )


@operation("runs cancel", role=Role.MEMBER, example="01m80aj3rq")
async def cancel_run(context: OperationContext, caller: Caller, id: RunId) -> RunView:
    """Cancel one run.

    The messages that wait behind it are processed.
    """
    engine = context.engine
    run = await run_of(context, caller, id)
    row = await engine.journal.session(run.session_key)
    live = None if row is None else row.run
    if live is None or live.id != run.id:
        raise NanobotError(f"Run {run.id} has ended already.")
    notice = stopped_notice(live.id, live.address, "Cancelled.")
    partial = engine.partial(live.session_key)
    ending = Ending(
        state=RunState.ABORTED,
        bodies=() if partial is None else (partial,),
        outbound=(notice,) if live.kind is RunKind.CHAT else (),
        error="cancelled",
    )
    ended = await engine.records.cancel(run.id, ending, caller.by)
    if ended is None:
        raise NanobotError(f"Run {run.id} has ended already.")
    engine.bus.stopped(ended)
    engine.bus.wake(ended.session_key, ended.kind)
    return await run_of(context, caller, run.id)
