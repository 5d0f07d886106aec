"""When jobs are due, and missed runs."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Literal, TypeAlias

from nanobot.plugins.common.jobs.plans import Plan
from nanobot.plugins.common.jobs.service import Following
from nanobot.plugins.common.times.zones import zone_of

LATE_SECONDS = 60.0
"""A run that starts this much after its time is late; it counts as missed if the job does not allow
late runs.
"""
MOST_LATE = 100
"""Most runs that `run_all` makes up for after an absence, by the interval between two of them."""
MISSED_SECONDS = 30 * 86_400.0
"""After a longer absence, only this much is considered; runs due earlier are not even recorded."""

What: TypeAlias = Literal["fire", "late", "missed", "skipped"]


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


def worded(plan: Plan, text: str, due: float, now: float) -> str:
    """The text of an occurrence; a late one says so."""
    if now - due < LATE_SECONDS:
        return text
    then = datetime.fromtimestamp(due, zone_of(plan.zone)).strftime("%Y-%m-%d %H:%M")
    return f"[Late: this was due at {then} ({plan.zone}), when nanobot was not running.]\n{text}"


def skipped_to(following: Following, plan: Plan, at: float, now: float) -> float | None:
    """The first time to run after an absence: `at`, or the first time within MISSED_SECONDS; None
    if the plan expired before.
    """
    if plan.once or now - at <= MISSED_SECONDS:
        return at
    return following(plan, now - MISSED_SECONDS)
