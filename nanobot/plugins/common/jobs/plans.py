"""Jobs: what the plugins agree on that have them done.

A trigger's prompts are occurrences of a job of the gateway's own. `service` has the ports to the
plugin that does jobs.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

from nanobot import labels
from nanobot.labels import Label
from nanobot.messages import Address, Origin, Role, RunOptions
from nanobot.session.runs import Run
from nanobot.text import WORDS, Sentence, pattern

MOST_WAITING = 10
"""Maximum waiting runs of a job whose runs are queued."""
SILENT = "NOTHING_TO_SAY"
"""An answer that is not delivered."""

State: TypeAlias = Literal["active", "paused", "done", "removed", "system"]
Status: TypeAlias = Literal[
    "running", "waiting", "done", "failed", "skipped", "missed", "cancelled"
]
Misfire: TypeAlias = Literal["skip", "run_once", "run_all"]
Overlap: TypeAlias = Literal["skip", "queue", "replace"]

_TIME = pattern(r"\d{4}-\d\d-\d\d", re.ASCII)


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The action of a job."""

    name: str
    schedule: str
    """Its times, as the plugin that fires jobs by the clock can read them."""
    zone: str
    """The time zone of the schedule."""
    anchor: float
    """From when its times are counted."""
    text: str
    """For the model, or for the chat."""
    address: Address
    session_key: str
    sender_id: str
    role: Role
    by: str = ""
    """Who asked for it, as CHANNEL:ID."""
    here: bool = False
    """Whether it posts to the chat it was asked for in."""
    send: bool = False
    """The text is posted to the chat unchanged."""
    session: Literal["own", "chat"] = "own"
    """Where the model gets the text: in the job's session, where each run starts fresh, or in the
    chat's."""
    options: RunOptions = msgspec.field(default=RunOptions(), name="terms")
    misfire: Misfire = "run_once"
    """What happens to times that passed while no gateway ran (`run_all`: at most `window` seconds
    back)."""
    window: float = 86_400.0
    overlap: Overlap = "skip"
    """What happens if the previous run is still going."""
    waiting: int = MOST_WAITING
    """How many runs may be queued."""
    post: bool = True
    """The answer of a run in its own session is posted to the chat."""
    jitter: float = 0.0
    """Delay each run by up to this many seconds."""
    expires_at: float | None = None
    retries: int = 0
    """How often a failed run is repeated."""
    tainted: bool = False
    label: str = ""
    depth: int = 0
    """How many jobs led to this one."""
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
    """A stored plan. If not `readable`, only its name, chat and owner are known."""

    id: int
    state: State
    next_at: float | None
    """When its schedule is due next."""
    created_at: float
    plan: Plan
    reason: Sentence = ""
    """Why the gateway paused it."""
    readable: bool = True


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a method: sessions with new work, chats with new messages to send, and runs
    that were ended."""

    wakes: tuple[str, ...] = ()
    owes: tuple[Address, ...] = ()
    stopped: tuple[Run, ...] = ()
    next_due: float | None = None
    """When there is work again."""
    more: bool = False
    """The call did only part of the work."""
    watched: frozenset[str] = frozenset()
    """Sessions with unfinished runs of jobs."""

    def then(self, later: Fired) -> Fired:
        return Fired(
            wakes=tuple(dict.fromkeys(self.wakes + later.wakes)),
            owes=tuple(dict.fromkeys(self.owes + later.owes)),
            stopped=self.stopped + later.stopped,
            next_due=later.next_due,
            more=later.more,
            watched=self.watched | later.watched,
        )


class OccurrenceView(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence of a job. `status`: running or waiting (for a retry), and finally done,
    failed, skipped (the previous run was still going), missed (no gateway was running) or
    cancelled. `count`: how many consecutive occurrences, from this one on, ended this way.
    """

    SHOWN: ClassVar[tuple[str, ...]] = (
        *("scheduled_at", "status", "name"),
        *("ended_at", "error", "run_id"),
    )

    job_id: int
    name: str
    scheduled_at: float
    status: Annotated[str, Meta(extra={WORDS: get_args(Status)})]
    fired_at: float
    ended_at: float | None
    attempt: int
    run_id: str | None
    error: Sentence | None
    count: int = 1


def silent(text: str) -> bool:
    """Whether an answer says that there is nothing to report."""
    plain = re.sub(r"[\W_]+", "", text).casefold()
    return plain in {"", SILENT.replace("_", "").casefold()}
