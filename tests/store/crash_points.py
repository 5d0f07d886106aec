"""The verbs at which NANOBOT_CRASH_AT can kill a process."""

from __future__ import annotations

from nanobot.store.database.durability import verbs_of
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.verbs import CRASH_POINTS, SqlStore


def crash_points(store: type[SqlStore]) -> tuple[str, ...]:
    """The writing verbs of a store."""
    named = [name for verb, name in CRASH_POINTS.items() if name and verb in vars(store).values()]
    return tuple(dict.fromkeys(verb for name in named for verb in verbs_of(name)))


VERBS = crash_points(SqlJournal)
"""Those of the journal."""
