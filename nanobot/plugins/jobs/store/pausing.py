"""Pausing: a job that cannot run is stopped with the reason, and its owner has to be told."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.errors import NanobotError
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.jobs.store import occurrences
from nanobot.plugins.jobs.store.effects import Effects
from nanobot.plugins.jobs.store.occurrences import Occurrence

_j = job_tables.jobs

_REASON_CHARS = 300


def give_up(effects: Effects, occurrence: Occurrence, error: Exception) -> None:
    """End an occurrence that cannot be settled, and pause its job."""
    reason = reason_of(error)
    values = {"status": "failed", "ended_at": effects.now, "retry_at": None, "error": reason}
    occurrences.update(effects.unit, occurrence, **values)
    pause(effects, occurrence.job_id, reason)


def pause(effects: Effects, job_id: int, reason: str) -> None:
    """Pause a job that is active; its owner has to be told."""
    values = {
        "state": "paused",
        "next_at": None,
        "next_due": None,
        "changed_at": effects.now,
        "reason": reason[:_REASON_CHARS],
        "notice_due": True,
    }
    active = sa.update(_j).where(_j.c.id == job_id, job_tables.JOB_ACTIVE)
    effects.unit.execute(active.values(**values))


def reason_of(error: Exception) -> str:
    """An error, worded for people."""
    text = str(error) if isinstance(error, NanobotError) else f"{type(error).__name__}: {error}"
    return text[:_REASON_CHARS]
