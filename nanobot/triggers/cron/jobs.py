"""Jobs: what is done when, what becomes of a time that was missed, and the port to their store."""

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
from nanobot.session.keys import JOBS
from nanobot.session.runs import Run
from nanobot.system import Backoff
from nanobot.triggers.cron.schedule import Once, Schedule, coming, restored, zone_of
from nanobot.triggers.cron.wording import in_words

LATE_SECONDS = 60.0
"""What is done so much after its time is done late, and was missed where that is not wanted."""
MOST_WAITING = 10
"""Times of one job that wait for each other, where they are queued."""
KEPT_SECONDS = 90 * 86_400.0
"""How long it is known what became of a time."""
MOST_LATE = 100
"""So many times of an absence `run_all` makes up for, by the time between two of them."""
MISSED_SECONDS = 30 * 86_400.0
"""Of a longer absence only this much is looked at; what was due before is not even written down."""
SILENT = "NOTHING_TO_SAY"
"""An answer that is not delivered."""

RETRIES = Backoff(first=60.0, longest=3_600.0)
"""After these seconds a failed run is repeated."""

State: TypeAlias = Literal["active", "paused", "done", "removed", "system"]
Status: TypeAlias = Literal[
    "running", "waiting", "done", "failed", "skipped", "missed", "cancelled"
]
Misfire: TypeAlias = Literal["skip", "run_once", "run_all"]
Overlap: TypeAlias = Literal["skip", "queue", "replace"]
What: TypeAlias = Literal["fire", "late", "missed", "skipped"]
Admission: TypeAlias = Literal["run", "skip", "replace"]
Taken: TypeAlias = Literal["taken", "known", "full"]
"""What became of a trigger: it is done now, it was before, too much waits already."""


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a job does. `text` goes to the model, in a session of the job (`own`: every run begins
    anew) or in that of the chat; or (`send`) into the chat as it is.

    `schedule` and `zone` are a schedule's, counted from `anchor`. `misfire` is for times that
    passed while nobody was there (`run_all`: at most `window` seconds back), `overlap` for those
    that come while the one before is not done. `jitter` delays each by up to so many seconds,
    `waiting` is how many may wait where they are queued, `retries` repeat a failed run. `post`:
    what a run of its own answers goes into the chat. `depth` counts the jobs that made it; `by` is
    who asked for it, as CHANNEL:ID; `here`: in the chat that it speaks in.
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
        """Whether it is done once."""
        return isinstance(self.when(), Once)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that is kept. `next_at` is when it is due next, by its schedule. `reason` is why the
    gateway paused it. Not `readable`: only its name, its chat and its owner are known."""

    id: int
    state: State
    next_at: float | None
    created_at: float
    plan: Plan
    reason: str = ""
    readable: bool = True


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job as people see it. `rule` is its schedule in words, `times` are the next three after a
    change. `kind`: prompt (for the model) or message. `reason`: why the gateway paused it.
    `question`: what it needs to know of the person who added it."""

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
    reason: str
    rule: str
    times: tuple[float, ...] = ()
    question: str = ""


class OccurrenceView(msgspec.Struct, frozen=True, kw_only=True):
    """One time that a job was due. `status` is running, waiting (to be tried again), or in the end
    done, failed, skipped (the one before was not done), missed (nobody was there) or cancelled.
    `count`: so many times from then on that ended so."""

    job_id: int
    name: str
    scheduled_at: float
    status: str
    fired_at: float
    ended_at: float | None
    attempt: int
    run_id: str | None
    error: str | None
    count: int = 1


class OpenTime(msgspec.Struct, frozen=True):
    """A time that is not done, by which a look at all of them goes on."""

    job_id: int
    scheduled_at: float


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """What a verb made: sessions with something to do, chats that something is owed to, runs that
    were ended. `next_due`: when something is to be done again; `more`: the verb has not done all of
    it. `watched`: sessions in which runs of jobs have not ended."""

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
    """What the store keeps of jobs; each verb is one transaction."""

    async def add(self, plan: Plan, next_at: float | None, key: str, most: int) -> Job:
        """Keep a job. The same call `key` gives the same job again. Raises UsageError for a name
        that is taken, and when whoever asks has `most` jobs already."""
        ...

    async def system(self, plan: Plan) -> Job:
        """The job of that name that the gateway itself has, with this plan from now on. It is due
        only when it is triggered."""
        ...

    async def find(self, which: str) -> Job:
        """The job of that id or name. Raises UsageError."""
        ...

    async def listed(self, *, state: str, by: str, limit: int, find: str = "") -> list[Job]:
        """Jobs in a state ("": any but removed), by whoever asked for them ("": anybody), with
        these words in their name, or in what is to be done or said."""
        ...

    async def changed(self, job: Job) -> None:
        """Keep a job as it is now. A removed one has nothing running and waiting any more."""
        ...

    async def fire(self) -> Fired:
        """Do what is due: for every due time its row, what it puts into the chat or its session,
        and the job's next time. What cannot be done pauses its job, whose owner is told."""
        ...

    async def settle(self, sessions: Sequence[str]) -> Fired:
        """Note how runs of jobs in these sessions have ended."""
        ...

    async def sweep(self, after: OpenTime | None) -> tuple[Fired, OpenTime | None]:
        """Look at times that are not done, from the first on or after one: settle what has ended,
        and wake what waits. Returns where to go on; None: that was all."""
        ...

    async def release(self, after: Address | None) -> tuple[Fired, Address | None]:
        """Send what was held back of what is said unasked, as far as it may be sent now, from the
        first chat on or after one. Returns where to go on; None: that was all."""
        ...

    async def trigger(
        self, job_id: int, *, at: float | None, key: str, text: str
    ) -> tuple[Taken, Fired]:
        """Do a job now. `at` (now if None) names the time, which is done once; `key` names the
        call. `text` instead of the plan's. Full: it is not even written down, unlike a time that is
        skipped because of the plan's overlap. Raises UsageError for a job that cannot be read."""
        ...

    async def history(self, *, job_id: int | None, limit: int) -> list[OccurrenceView]:
        """What became of the times of a job (None: of all), the latest first."""
        ...

    async def realign(self, after: int) -> int | None:
        """After a start, or a clock set back: what is due earlier than was thought is due then.
        Looks at jobs with ids above `after`; returns where to go on, None: that was all."""
        ...

    async def prune(self) -> bool:
        """Forget what is older than KEPT_SECONDS; True: there is more of it."""
        ...

    async def depth(self, run_id: str) -> int:
        """The depth of the job that a run belongs to; 0 for none."""
        ...


def due_at(job_id: int, scheduled_at: float, jitter: float) -> float:
    """A time with its jitter, which is the same whenever it is asked for."""
    if jitter <= 0:
        return scheduled_at
    seed = hashlib.sha256(f"{job_id}:{scheduled_at:.3f}".encode()).digest()
    return scheduled_at + jitter * int.from_bytes(seed[:6], "big") / (1 << 48)


def decide(plan: Plan, due: float, following: float | None, now: float) -> What:
    """What becomes of a time that was due at `due`; `following` is when the next one is. What runs
    already is not looked at here."""
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
    """What becomes of a time while so many before it have not ended."""
    if unended and (plan.overlap == "skip" or unended >= plan.waiting):
        return "skip"
    return "replace" if unended and plan.overlap == "replace" else "run"


def repeats(job: Job, end: str, attempt: int) -> bool:
    """Whether a run that ended so is tried again."""
    return end == "failed" and attempt <= job.plan.retries and job.state != "removed"


def session_of(job: Job) -> str:
    """The session in which a job's runs are."""
    if job.plan.session == "chat":
        return job.plan.session_key
    return job.plan.name if job.state == "system" else JOBS.of(job.id)


def worded(plan: Plan, text: str, due: float, now: float) -> str:
    """The text of a time; one that is done late says so."""
    if now - due < LATE_SECONDS:
        return text
    then = datetime.fromtimestamp(due, zone_of(plan.zone)).strftime("%Y-%m-%d %H:%M")
    return f"[Late: this was due at {then} ({plan.zone}), when nobody was there to do it.]\n{text}"


def silent(text: str) -> bool:
    """Whether an answer says that there is nothing to say."""
    plain = re.sub(r"[\W_]+", "", text).casefold()
    return plain in {"", SILENT.replace("_", "").casefold()}


def viewed(job: Job, *, times: bool = False) -> JobView:
    """A job as people see it; with its next three times if it has any."""
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
    """The schedule in words, in the language of what is to be done; as it is kept where it cannot
    be read."""
    try:
        return in_words(plan.when(), plan.zone, plan.text)
    except (UsageError, ValueError):
        return plan.schedule


def following(plan: Plan, after: float) -> float | None:
    """When a plan is due next, within its life."""
    at = plan.when().next(after)
    over = at is None or (plan.expires_at is not None and at > plan.expires_at)
    return None if over else at


def skipped_to(plan: Plan, at: float, now: float) -> float | None:
    """The time to begin with after an absence: `at`, or the first within MISSED_SECONDS; None:
    its life was over before."""
    if plan.once or now - at <= MISSED_SECONDS:
        return at
    return following(plan, now - MISSED_SECONDS)
