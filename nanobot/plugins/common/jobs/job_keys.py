"""The jobs that keys of sessions and messages are about."""

from __future__ import annotations

from nanobot.session.keys import Keys

JOBS = Keys("cron")
"""One per job: its session. With a time: its post; with an attempt too: its run's message. Never
change it: databases contain it."""
_DIGITS = 18
"""Number of digits that every database can store in an integer."""


def job_of(key: str) -> int | None:
    """The id of the job in a key; None for a key of another kind."""
    text = JOBS.id_of(key)
    its = JOBS.is_of(key) and text.isascii() and text.isdecimal()
    return int(text) if its and len(text) <= _DIGITS else None
