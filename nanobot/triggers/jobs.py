"""Jobs as the gateway does them: plans, occurrences, and the port to their store.

A trigger's prompts are occurrences of a job of the gateway's own. Which other jobs there are, and
when they are due, is known to a `Timetable`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from nanobot import labels
from nanobot.labels import Label
from nanobot.messages import Address, Origin, Role, RunOptions
from nanobot.retries import Backoff
from nanobot.session.keys import JOBS
from nanobot.session.runs import Run
from nanobot.text import Sentence, pattern

MOST_WAITING = 10
"""Maximum waiting runs of a job whose runs are queued."""
KEPT_SECONDS = 90 * 86_400.0
"""How long the history of a job is kept."""
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
Admission: TypeAlias = Literal["run", "skip", "replace"]
Taken: TypeAlias = Literal["taken", "known", "full"]
"""The result of a trigger: accepted now, accepted earlier, or too much is waiting."""

_TIME = pattern(r"\d{4}-\d\d-\d\d", re.ASCII)


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The action of a job. `text` goes to the model, in a session of the job (`own`: each run
    starts fresh) or in the chat's session; with `send` it is posted to the chat unchanged.

    `schedule` and `zone` determine the times, counted from `anchor`; the plugin that fires jobs by
    the clock can read them. `misfire`: what happens to
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

    @property
    def spoken(self) -> Label:
        """The label of its text."""
        return labels.read(self.label, tainted=self.tainted)

    @property
    def once(self) -> bool:
        """Whether it runs only once: its schedule is a time."""
        return _TIME.match(self.schedule) is not None


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
    """The stored jobs, as the gateway does them; each method is one transaction."""

    async def system(self, plan: Plan) -> Job:
        """The gateway's own job of that name, which has this plan from now on. It runs only when
        triggered.
        """
        ...

    async def again(self) -> Fired:
        """Repeat the failed occurrences that are due for it, where nothing fires jobs by the
        clock."""
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

    async def prune(self) -> bool:
        """Delete occurrences older than KEPT_SECONDS; True if there are more."""
        ...


class Timetable(Protocol):
    """Fires jobs by the clock; each method is one transaction."""

    async def fire(self) -> Fired:
        """Repeat the failed occurrences that are due for it, and fire due jobs. Each due time gets
        a row, its prompt or message, and the job its next time. A job that cannot run is paused,
        and its owner is told.
        """
        ...

    async def realign(self, after: int) -> int | None:
        """After a start, or after the clock was set back: move jobs forward that are due earlier
        than recorded. Handles jobs with ids above `after`; returns the id to continue from, None at
        the end.
        """
        ...


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


def silent(text: str) -> bool:
    """Whether an answer says that there is nothing to report."""
    plain = re.sub(r"[\W_]+", "", text).casefold()
    return plain in {"", SILENT.replace("_", "").casefold()}
