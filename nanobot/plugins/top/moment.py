"""What a gateway does at one moment, and its text."""

from __future__ import annotations

import msgspec

from nanobot.operations.rendering import Now as ShownAt
from nanobot.plugins.common.runs.timeline import took
from nanobot.text import Sentence


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Since when the oldest message waits and the oldest answer is unsent, and how many units of
    work wait for the store."""

    oldest_waiting: float | None = None
    oldest_owed: float | None = None
    queued: int = 0


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
    """The current state. Only owners see figures about other people."""

    at: float
    serving: bool
    driving: int = 0
    runs: list[LiveRun] = []
    more_runs: bool = False
    waiting: int = 0
    """Messages without a run."""
    oldest_waiting: float | None = None
    """Age of the oldest of them, in seconds."""
    owed: int = 0
    """Unsent answers."""
    oldest_owed: float | None = None
    """Age of the oldest of them, in seconds."""
    dead: int = 0
    sessions: int = 0
    channels: dict[str, str] = {}
    tokens_a_minute: int | None = 0
    """null while no plugin counts them."""
    cost_today: float | None = 0.0
    """null while no plugin counts it."""
    loop_lag_ms: float = 0.0
    """How late a timer of the gateway was at most, within the requested seconds."""
    store_ms: float = 0.0
    """The time of this query of the store, including the wait for the units before it."""
    store_queue: int = 0


def moment_text(moment: Moment, _: ShownAt) -> Sentence:
    """A moment in lines, the runs last."""
    lines = []
    if moment.channels:
        states = ", ".join(f"{name} {state}" for name, state in moment.channels.items())
        lines.append(f"Channels: {states}")
    if moment.serving and (moment.sessions or moment.store_ms):
        lines += [
            _lanes(moment),
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


def _lanes(moment: Moment) -> Sentence:
    if moment.sessions == 1:
        return f"Lanes: {moment.driving} running of 1 conversation"
    return f"Lanes: {moment.driving} running of {moment.sessions} conversations"


def _waiting(moment: Moment) -> Sentence:
    waiting = "Waiting: 1 message" if moment.waiting == 1 else f"Waiting: {moment.waiting} messages"
    if moment.oldest_waiting is None:
        return waiting
    return f"{waiting}, the oldest for {took(moment.oldest_waiting)}"


def _spent(moment: Moment) -> list[Sentence]:
    if moment.tokens_a_minute is None or moment.cost_today is None:
        return ["Tokens and cost: no plugin counts them"]
    return [
        f"Tokens: {moment.tokens_a_minute:,} in the last minute",
        f"Cost: ${moment.cost_today:.2f} today",
    ]


def _unsent(moment: Moment) -> Sentence:
    unsent = "Unsent: 1 answer" if moment.owed == 1 else f"Unsent: {moment.owed} answers"
    if moment.oldest_owed is None:
        return f"{unsent}, {moment.dead} failed"
    return f"{unsent}, the oldest for {took(moment.oldest_owed)}, {moment.dead} failed"
