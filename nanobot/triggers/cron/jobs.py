"""Jobs: plans, missed runs, and the port to the job store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

import msgspec

from nanobot import labels
from nanobot.errors import UsageError
from nanobot.labels import Label
from nanobot.messages import Address, Origin, Role, RunOptions
from nanobot.retries import Backoff
from nanobot.session.keys import JOBS
from nanobot.session.runs import Run
from nanobot.text import Sentence
from nanobot.triggers.cron.schedule import Once, Schedule, coming, restored, zone_of
from nanobot.triggers.cron.wording import in_words

LATE_SECONDS = 60.0
"""A run that starts this much after its time is late; it counts as missed if the job does not allow
late runs.
"""
MOST_WAITING = 10
"""Maximum waiting runs of a job whose runs are queued."""
KEPT_SECONDS = 90 * 86_400.0
"""How long the history of a job is kept."""
MOST_LATE = 100
"""Most runs that `run_all` makes up for after an absence, by the interval between two of them."""
MISSED_SECONDS = 30 * 86_400.0
"""After a longer absence, only this much is considered; runs due earlier are not even recorded."""
SILENT = "NOTHING_TO_SAY"
"""An answer that is not delivered."""

RETRIES = Backoff(first=60.0, longest=3_600.0)
"""Delays in seconds after which a failed run is retried."""

State: TypeAlias = Literal["active", "paused", "done", "removed", "system"]
Status: TypeAlias = Literal[
    "running", "waiting", "done", "failed", "skipped", "missed", "cancelled"
]
Misfire: TypeAlias = Literal["skip", "run_once", "run_all"]
Overlap: TypeAlias = Literal["skip", "queue", "replace"]
What: TypeAlias = Literal["fire", "late", "missed", "skipped"]
Admission: TypeAlias = Literal["run", "skip", "replace"]
Taken: TypeAlias = Literal["taken", "known", "full"]
"""The result of a trigger: accepted now, accepted earlier, or too much is waiting."""


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The action of a job. `text` goes to the model, in a session of the job (`own`: each run
    starts fresh) or in the chat's session; with `send` it is posted to the chat unchanged.

    `schedule` and `zone` determine the times, counted from `anchor`. `misfire`: what happens to
    times that passed while no gateway ran (`run_all`: at most `window` seconds back). `overlap`:
    what happens if the previous run is still going. `jitter`: delay each run by up to this many
    seconds. `waiting`: how many runs may be queued. `retries`: how often a failed run is repeated.
    `post`: the answer of a run in its own session is posted to the chat. `depth`: how many jobs led
    to this one. `by`: who asked for it, as CHANNEL:ID. `here`: whether it posts to the chat it was
    asked for in.
    """

    name: str
    schedule: str
    zone: str
    anchor: float
    text: str
    address: Address
    session_key: str
    sender_id: str
    role: Role
    by: str = ""
    here: bool = False
    send: bool = False
    session: Literal["own", "chat"] = "own"
    options: RunOptions = msgspec.field(default=RunOptions(), name="terms")
    misfire: Misfire = "run_once"
    window: float = 86_400.0
    overlap: Overlap = "skip"
    waiting: int = MOST_WAITING
    post: bool = True
    jitter: float = 0.0
    expires_at: float | None = None
    retries: int = 0
    tainted: bool = False
    label: str = ""
    depth: int = 0
    origin: Origin = Origin.CRON

    def when(self) -> Schedule:
        return restored(self.schedule, self.zone, self.anchor)

    @property
    def spoken(self) -> Label:
        """The label of its text."""
        return labels.read(self.label, tainted=self.tainted)

    @property
    def once(self) -> bool:
        """Whether it runs only once."""
        return isinstance(self.when(), Once)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A stored plan. `next_at`: when its schedule is due next. `reason`: why the gateway paused it.
    If not `readable`, only its name, chat and owner are known.
    """

    id: int
    state: State
    next_at: float | None
    created_at: float
    plan: Plan
    reason: Sentence = ""
    readable: bool = True


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job as shown to people. `rule`: its schedule in words. `times`: the next three, after a
    change. `kind`: prompt (for the model) or message. `reason`: why the gateway paused it.
    `question`: a question to the person who added it.
    """

    id: int
    name: str
    state: str
    schedule: str
    zone: str
    next_at: float | None
    kind: str
    text: str
    to: str
    session: str
    by: str
    misfire: str
    overlap: str
    created_at: float
    reason: Sentence
    rule: str
    times: tuple[float, ...] = ()
    question: Sentence = ""


class OccurrenceView(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence of a job. `status`: running or waiting (for a retry), and finally done,
    failed, skipped (the previous run was still going), missed (no gateway was running) or
    cancelled. `count`: how many consecutive occurrences, from this one on, ended this way.
    """

    job_id: int
    name: str
    scheduled_at: float
    status: str
    fired_at: float
    ended_at: float | None
    attempt: int
    run_id: str | None
    error: Sentence | None
    count: int = 1


class OpenTime(msgspec.Struct, frozen=True):
    """An unfinished occurrence, the position at which a sweep continues."""

    job_id: int
    scheduled_at: float


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a method: sessions with new work, chats with new messages to send, and runs
    that were ended. `next_due`: when there is work again. `more`: the call did only part of the
    work. `watched`: sessions with unfinished runs of jobs.
    """

    wakes: tuple[str, ...] = ()
    owes: tuple[Address, ...] = ()
    stopped: tuple[Run, ...] = ()
    next_due: float | None = None
    more: bool = False
    watched: frozenset[str] = frozenset()

    def then(self, later: Fired) -> Fired:
        return Fired(
            wakes=tuple(dict.fromkeys(self.wakes + later.wakes)),
            owes=tuple(dict.fromkeys(self.owes + later.owes)),
            stopped=self.stopped + later.stopped,
            next_due=later.next_due,
            more=later.more,
            watched=self.watched | later.watched,
        )


class JobStore(Protocol):
    """The stored jobs; each method is one transaction."""

    async def add(self, plan: Plan, next_at: float | None, key: str, most: int) -> Job:
        """Add a job. A call with the same `key` returns the same job. Raises UsageError if the name
        is taken, or if the requester already has `most` jobs.
        """
        ...

    async def system(self, plan: Plan) -> Job:
        """The gateway's own job of that name, which has this plan from now on. It runs only when
        triggered.
        """
        ...

    async def find(self, which: str) -> Job:
        """The job with that id or name. Raises UsageError."""
        ...

    async def listed(self, *, state: str, by: str, limit: int, find: str = "") -> list[Job]:
        """Jobs in a state ("": any except removed), requested by `by` ("": anyone), with these
        words in their name or text.
        """
        ...

    async def changed(self, job: Job) -> None:
        """Store the changed job. If it was removed, its running and waiting occurrences end."""
        ...

    async def fire(self) -> Fired:
        """Fire due jobs. Each due time gets a row, its prompt or message, and the job its next
        time. A job that cannot run is paused, and its owner is told.
        """
        ...

    async def settle(self, sessions: Sequence[str]) -> Fired:
        """Record how the runs of jobs in these sessions ended."""
        ...

    async def sweep(self, after: OpenTime | None) -> tuple[Fired, OpenTime | None]:
        """Go through the unfinished occurrences, starting at `after`: settle the finished ones and
        wake the waiting ones. Returns the position to continue from; None at the end.
        """
        ...

    async def release(self, after: Address | None) -> tuple[Fired, Address | None]:
        """Send held-back notifications that may be sent now, starting at `after`. Returns the chat
        to continue from; None at the end.
        """
        ...

    async def trigger(
        self, job_id: int, *, at: float | None, key: str, text: str, kept: str = ""
    ) -> tuple[Taken, Fired]:
        """Run a job now. `at` (None: now) is the time of the occurrence, which runs only once;
        `key` identifies the call. `text` replaces the plan's text. `kept`: as in InboundMessage. If
        too much is waiting, the occurrence is not even recorded, unlike one that is skipped because
        of the plan's overlap.
        Raises UsageError for an unreadable job.
        """
        ...

    async def history(self, *, job_id: int | None, limit: int) -> list[OccurrenceView]:
        """The occurrences of a job (None: of all jobs), latest first."""
        ...

    async def realign(self, after: int) -> int | None:
        """After a start, or after the clock was set back: move jobs forward that are due earlier
        than recorded. Handles jobs with ids above `after`; returns the id to continue from, None at
        the end.
        """
        ...

    async def prune(self) -> bool:
        """Delete occurrences older than KEPT_SECONDS; True if there are more."""
        ...

    async def depth(self, run_id: str) -> int:
        """The depth of the job that a run belongs to; 0 if it belongs to none."""
        ...


def due_at(job_id: int, scheduled_at: float, jitter: float) -> float:
    """A time plus its jitter, which is deterministic."""
    if jitter <= 0:
        return scheduled_at
    seed = hashlib.sha256(f"{job_id}:{scheduled_at:.3f}".encode()).digest()
    return scheduled_at + jitter * int.from_bytes(seed[:6], "big") / (1 << 48)


def decide(plan: Plan, due: float, following: float | None, now: float) -> What:
    """The decision on an occurrence that was due at `due`; `following` is the next time. Running
    occurrences are not considered here.
    """
    if now - due < LATE_SECONDS:
        return "fire"
    if plan.once:
        return "late"
    if plan.misfire == "run_all":
        often = following is not None and now - due > MOST_LATE * (following - due) > 0
        return "late" if now - due <= plan.window and not often else "missed"
    last = following is None or following > now
    if plan.misfire == "run_once" and last:
        return "late"
    return "missed"


def admits(plan: Plan, unended: int) -> Admission:
    """The decision on an occurrence while this many earlier ones are unfinished."""
    if unended and (plan.overlap == "skip" or unended >= plan.waiting):
        return "skip"
    return "replace" if unended and plan.overlap == "replace" else "run"


def repeats(job: Job, end: str, attempt: int) -> bool:
    """Whether a run that ended this way is retried."""
    return end == "failed" and attempt <= job.plan.retries and job.state != "removed"


def session_of(job: Job) -> str:
    """The session of a job's runs."""
    if job.plan.session == "chat":
        return job.plan.session_key
    return job.plan.name if job.state == "system" else JOBS.of(job.id)


def worded(plan: Plan, text: str, due: float, now: float) -> str:
    """The text of an occurrence; a late one says so."""
    if now - due < LATE_SECONDS:
        return text
    then = datetime.fromtimestamp(due, zone_of(plan.zone)).strftime("%Y-%m-%d %H:%M")
    return f"[Late: this was due at {then} ({plan.zone}), when nanobot was not running.]\n{text}"


def silent(text: str) -> bool:
    """Whether an answer says that there is nothing to report."""
    plain = re.sub(r"[\W_]+", "", text).casefold()
    return plain in {"", SILENT.replace("_", "").casefold()}


def viewed(job: Job, *, times: bool = False) -> JobView:
    """A job as shown to people, with its next three times if it has any."""
    plan = job.plan
    ahead: tuple[float, ...] = ()
    if times and job.next_at is not None:
        ahead = (job.next_at, *coming(plan.when(), job.next_at, 2))
    return JobView(
        id=job.id,
        name=plan.name,
        state=job.state,
        schedule=plan.schedule,
        zone=plan.zone,
        next_at=job.next_at,
        kind="message" if plan.send else "prompt",
        text=plan.text,
        to=str(plan.address),
        session="-" if plan.send else plan.session,
        by=plan.by,
        misfire=plan.misfire,
        overlap=plan.overlap,
        created_at=job.created_at,
        reason=job.reason,
        rule=_rule(plan),
        times=ahead,
    )


def _rule(plan: Plan) -> str:
    """The schedule in words, in the language of the job's text; the stored form if it is
    unreadable.
    """
    try:
        return in_words(plan.when(), plan.zone, plan.text)
    except (UsageError, ValueError):
        return plan.schedule


def following(plan: Plan, after: float) -> float | None:
    """The next time of a plan before it expires."""
    at = plan.when().next(after)
    over = at is None or (plan.expires_at is not None and at > plan.expires_at)
    return None if over else at


def skipped_to(plan: Plan, at: float, now: float) -> float | None:
    """The first time to run after an absence: `at`, or the first time within MISSED_SECONDS; None
    if the plan expired before.
    """
    if plan.once or now - at <= MISSED_SECONDS:
        return at
    return following(plan, now - MISSED_SECONDS)
