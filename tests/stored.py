"""What plugins read of a store, whose records a test has."""

from __future__ import annotations

from nanobot.plugins.approvals.store.approvals import SqlApprovals
from nanobot.plugins.common.store.outbox import SqlOutbox
from nanobot.plugins.common.store.runs import StoredRuns
from nanobot.plugins.common.store.session_lists import SessionLists
from nanobot.plugins.common.store.session_log import SqlSessionLog
from nanobot.plugins.conversations.store import SqlConversationList
from nanobot.plugins.library.store import Consuming
from nanobot.plugins.memory.remember import DueSession, RememberRecords
from nanobot.session.journal import Journal
from nanobot.session.views import Records
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.repositories.records import SqlRecords
from nanobot.store.verbs import SqlStore


def outbox_of(records: Records) -> SqlOutbox:
    assert isinstance(records, SqlRecords)
    return SqlOutbox(records.database, records.writer)


def marks_of(records: Records) -> SqlConversationList:
    """What a person marks."""
    assert isinstance(records, SqlRecords)
    return SqlConversationList(records.database, records.writer)


def log_of(records: Records) -> SqlSessionLog:
    assert isinstance(records, SqlRecords)
    return SqlSessionLog(records.database, records.writer)


def runs_of(records: Records) -> StoredRuns:
    assert isinstance(records, SqlRecords)
    return StoredRuns(records.database, records.writer)


def consuming(journal: Journal) -> Consuming:
    """What a program takes."""
    assert isinstance(journal, SqlJournal)
    return Consuming(journal.database, journal.writer)


def lists_of(records: Records) -> SessionLists:
    assert isinstance(records, SqlRecords)
    return SessionLists(records.database, records.writer)


def approvals_of(over: SqlStore) -> SqlApprovals:
    return SqlApprovals(over.database, over.writer)


def asked_of(records: Records) -> SqlApprovals:
    assert isinstance(records, SqlRecords)
    return approvals_of(records)


async def due_of(records: RememberRecords, quiet_seconds: float = 60.0) -> list[DueSession]:
    """All sessions that are to be remembered now."""
    due: list[DueSession] = []
    after: str | None = ""
    while after is not None:
        some, after = await records.due(quiet_seconds, after)
        due += [each for each in some if each.quiet]
    return due
