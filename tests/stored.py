"""What plugins read of a store, whose records a test has."""

from __future__ import annotations

from nanobot.plugins.approvals.store.approvals import SqlApprovals
from nanobot.plugins.common.store.counts import StoreCounts
from nanobot.plugins.common.store.outbox import SqlOutbox
from nanobot.plugins.common.store.requested_runs import RequestedRuns
from nanobot.plugins.common.store.runs import StoredRuns
from nanobot.plugins.common.store.session_lists import SessionLists
from nanobot.plugins.common.store.session_log import SqlSessionLog
from nanobot.plugins.conversations.store import SqlConversationList
from nanobot.plugins.library.store import Consuming
from nanobot.plugins.memory.remember import DueSession, RememberRecords
from nanobot.plugins.models.store import SessionModels
from nanobot.plugins.progress.store import PreviewRows
from nanobot.session.journal import Journal
from nanobot.session.records import Records
from nanobot.store.quarantine.guard import Guard
from nanobot.store.records import SqlRecords
from nanobot.store.verbs import SqlStore


def counts_of(records: Records) -> StoreCounts:
    return StoreCounts.over(records)


def outbox_of(records: Records) -> SqlOutbox:
    return SqlOutbox.over(records)


def marks_of(records: Records) -> SqlConversationList:
    """What a person marks."""
    return SqlConversationList.over(records)


def log_of(records: Records) -> SqlSessionLog:
    return SqlSessionLog.over(records)


def runs_of(records: Records) -> StoredRuns:
    return StoredRuns.over(records)


def consuming(journal: Journal) -> Consuming:
    """What a program takes."""
    return Consuming.over(journal)


def requested(journal: Journal) -> RequestedRuns:
    """What a program asks of the runs that it requested."""
    return RequestedRuns.over(journal)


def choosing(journal: Journal) -> SessionModels:
    """Gives sessions a model."""
    return SessionModels.over(journal)


def previewing(journal: Journal) -> PreviewRows:
    """Shows answers in progress."""
    return PreviewRows.over(journal)


def lists_of(records: Records) -> SessionLists:
    return SessionLists.over(records)


def approvals_of(over: SqlStore) -> SqlApprovals:
    return SqlApprovals.over(over)


def asked_of(records: Records) -> SqlApprovals:
    assert isinstance(records, SqlRecords)
    return approvals_of(records)


async def look_through(guard: Guard) -> int:
    """All that a start looks at."""
    return await guard.look_at_pending() + await guard.look_at_others()


async def due_of(records: RememberRecords, quiet_seconds: float = 60.0) -> list[DueSession]:
    """All sessions that are to be remembered now."""
    due: list[DueSession] = []
    after: str | None = ""
    while after is not None:
        some, after = await records.due(quiet_seconds, after)
        due += [each for each in some if each.quiet]
    return due
