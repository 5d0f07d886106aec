"""The current state in one bounded query, for `nanobot top`, the page and scripts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.run_states import as_people_see
from nanobot.plugins.common.gateway_facts import GatewayFacts
from nanobot.plugins.common.models.spending import Spending
from nanobot.plugins.common.runs.run_ids import runs_in
from nanobot.plugins.common.runs.timeline import Times, timeline_of, words
from nanobot.plugins.common.views.remarks import as_entry
from nanobot.plugins.common.views.views import RunView
from nanobot.plugins.top.loop_lag import lag_of
from nanobot.plugins.top.moment import LiveRun, Moment, moment_text
from nanobot.plugins.top.status import counts_of, show_status

if TYPE_CHECKING:
    from nanobot.plugins.top.store import Loads


@operation("runs now", reads=True, role=Role.MEMBER, text=moment_text, example="limit=5")
async def show_now(
    context: OperationContext,
    caller: Caller,
    limit: Annotated[int, Meta(ge=1, le=100, description="Maximum number of runs.")] = 20,
    seconds: Annotated[
        float, Meta(gt=0, le=60, description="Seconds whose largest loop lag is shown.")
    ] = 2.0,
) -> Moment:
    """Show active runs, pending messages and unsent answers.

    Members see only their own runs, and no figures. The lag of the event loop is measured only for
    this. Of unsent and waiting messages, 500 are searched for the oldest.
    """
    engine, now = context.engine, context.engine.now()
    live = await runs_in(context).listed(
        session="", state="live", limit=limit + 1, kind="", find="", within=caller.sessions
    )
    runs = [await _doing(context, run, now) for run in live[:limit]]
    facts = context.of(GatewayFacts).now()
    if caller.role is not Role.OWNER:
        return Moment(at=now, serving=facts.serving, runs=runs, more_runs=len(live) > limit)
    lag = lag_of(asyncio.get_running_loop())
    loads = _loads(context)
    began = engine.clock.monotonic()
    load = await loads.now()
    store_ms = (engine.clock.monotonic() - began) * 1000
    counts = await counts_of(context)
    spending = context.offered(Spending)  # type: ignore[type-abstract]
    spent = None if spending is None else await spending.spent()
    return Moment(
        at=now,
        serving=facts.serving,
        driving=len(engine.running()),
        runs=runs,
        more_runs=len(live) > limit,
        waiting=counts.waiting,
        oldest_waiting=_age(load.oldest_waiting, now),
        owed=counts.owed,
        oldest_owed=_age(load.oldest_owed, now),
        dead=counts.dead,
        sessions=counts.sessions,
        channels=dict(facts.channels),
        tokens_a_minute=None if spent is None else spent.tokens_a_minute,
        cost_today=None if spent is None else spent.cost_today,
        loop_lag_ms=round(await lag.largest(seconds) * 1000, 2),
        store_ms=round(store_ms, 2),
        store_queue=load.queued,
    )


def _loads(context: OperationContext) -> Loads:
    from nanobot.plugins.top.store import Loads  # noqa: PLC0415 - loads the store
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    return Loads(store.database, store.writer)


async def _doing(context: OperationContext, run: RunView, now: float) -> LiveRun:
    views = await runs_in(context).entries(run.id)
    times = Times(run_id=run.id, created_at=run.created_at, ended_at=run.ended_at)
    pieces = timeline_of(times, [as_entry(view) for view in views], (), now).pieces
    open_pieces = [piece for piece in pieces if piece.outcome == "open"]
    kind, name = "", ""
    doing, since = as_people_see(run.state), views[-1].at if views else run.created_at
    if open_pieces:
        kind, name, since = open_pieces[-1].kind, open_pieces[-1].name, open_pieces[-1].start
        doing = words(open_pieces[-1].kind, name)
    return LiveRun(
        id=run.id,
        session_key=run.session_key,
        about=run.about,
        state=as_people_see(run.state),
        doing=doing,
        kind=kind,
        name=name,
        seconds=max(now - since, 0.0),
        lasted=max(now - run.created_at, 0.0),
    )


def _age(at: float | None, now: float) -> float | None:
    return None if at is None else max(now - at, 0.0)


def operations() -> list[Operation]:
    """The operations of the plugin, in the order of the help."""
    return [show_status, show_now]
