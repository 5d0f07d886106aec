"""The current state in one bounded query, for `nanobot top` and scripts."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.messages import Role
from nanobot.operations.loop_lag import lag_of
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.remarks import as_entry
from nanobot.operations.rendering import Now as ShownAt
from nanobot.operations.timeline import Times, timeline_of, took, words
from nanobot.session.states import as_people_see
from nanobot.session.views import RunView
from nanobot.text import Sentence


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has not ended: its current activity, and the seconds that the activity and the run
    have lasted. `kind` and `name` say the same as `doing` for programs; "": no step of its timeline
    is open."""

    id: str
    session_key: str
    about: str
    state: str
    doing: str
    kind: str = ""
    name: str = ""
    seconds: float
    lasted: float


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """The current state. `waiting` messages have no run yet, `owed` answers are unsent; the oldest
    are `oldest_waiting` and `oldest_owed` seconds old. Only owners see figures about other people.
    `loop_lag_ms`: how late a timer of the gateway was at most, within the requested seconds;
    `store_ms`: the time of this query of the store, including the wait for the `store_queue` units
    before it. `tokens_a_minute`, `cost_today`: null while no plugin counts them."""

    at: float
    serving: bool
    driving: int = 0
    runs: list[LiveRun] = []
    more_runs: bool = False
    waiting: int = 0
    oldest_waiting: float | None = None
    owed: int = 0
    oldest_owed: float | None = None
    dead: int = 0
    sessions: int = 0
    channels: dict[str, str] = {}
    tokens_a_minute: int | None = 0
    cost_today: float | None = 0.0
    loop_lag_ms: float = 0.0
    store_ms: float = 0.0
    store_queue: int = 0


def moment_text(moment: Moment, _: ShownAt) -> Sentence:
    """A moment in lines, the runs last."""
    lines = []
    if moment.channels:
        states = ", ".join(f"{name} {state}" for name, state in moment.channels.items())
        lines.append(f"Channels: {states}")
    if moment.serving and (moment.sessions or moment.store_ms):
        lines += [
            f"Lanes: {moment.driving} running of {moment.sessions} conversations",
            _waiting(moment),
            _unsent(moment),
            *_spent(moment),
            f"Event loop: {moment.loop_lag_ms:.1f} ms late at most",
            f"Store: {moment.store_queue} units wait; a look takes {moment.store_ms:.1f} ms",
        ]
    if not moment.runs:
        lines.append("No run is live.")
    for run in moment.runs:
        lines.append(
            f"- {run.id[:10]} {took(run.lasted)} {run.doing} ({took(run.seconds)}): "
            f"{run.about or run.session_key}"
        )
    if moment.more_runs:
        lines.append("More runs are live: `runs list state=live` lists them.")
    return "\n".join(lines)


def _waiting(moment: Moment) -> Sentence:
    if moment.oldest_waiting is None:
        return f"Waiting: {moment.waiting} messages"
    return f"Waiting: {moment.waiting} messages, the oldest for {took(moment.oldest_waiting)}"


def _spent(moment: Moment) -> list[Sentence]:
    if moment.tokens_a_minute is None or moment.cost_today is None:
        return ["Tokens and cost: no plugin counts them"]
    return [
        f"Tokens: {moment.tokens_a_minute:,} in the last minute",
        f"Cost: ${moment.cost_today:.2f} today",
    ]


def _unsent(moment: Moment) -> Sentence:
    if moment.oldest_owed is None:
        return f"Unsent: {moment.owed} answers, {moment.dead} failed"
    oldest = took(moment.oldest_owed)
    return f"Unsent: {moment.owed} answers, the oldest for {oldest}, {moment.dead} failed"


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
    live = await engine.conversations.runs(
        session="", state="live", limit=limit + 1, kind="", find="", within=caller.sessions
    )
    runs = [await _doing(context, run, now) for run in live[:limit]]
    facts = engine.facts()
    if caller.role is not Role.OWNER:
        return Moment(at=now, serving=facts.serving, runs=runs, more_runs=len(live) > limit)
    lag = lag_of(asyncio.get_running_loop())
    began = engine.clock.monotonic()
    load = await engine.records.load()
    store_ms = (engine.clock.monotonic() - began) * 1000
    counts = await engine.records.counts()
    spent = None if engine.spending is None else await engine.spending.spent()
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


async def _doing(context: OperationContext, run: RunView, now: float) -> LiveRun:
    views = await context.engine.records.run_entries(run.id)
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
