"""Erases an entry on request, with every copy of it and every quote."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from nanobot.errors import UsageError
from nanobot.messages import InboundMessage, OutboundMessage, Sender
from nanobot.plugins.common.jobs.job_keys import job_of
from nanobot.plugins.common.store import job_tables, task_tables
from nanobot.plugins.common.store.beginnings import begins
from nanobot.plugins.common.store.erasures import LOGGED, QUOTES, done, note
from nanobot.plugins.common.views.digests import DIGEST, begun
from nanobot.plugins.erasure.store import session_titles, words
from nanobot.plugins.erasure.store.notes import ROWS, note_archived, note_blobs
from nanobot.session import entries as log_entries
from nanobot.session.approvals import Approval
from nanobot.session.entries import (
    FailedEntry,
    PostEntry,
    ReplyEntry,
    UndeliveredEntry,
    UserEntry,
)
from nanobot.session.keys import APPROVALS
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import log
from nanobot.store.unit import Unit

_a = schema.approvals
_e = schema.entries
_i = schema.inbound
_o = schema.outbound
_q = schema.quarantine
_p = schema.outbound_parts
_s = schema.sessions
_t = task_tables.tasks
_occurrences = job_tables.occurrences


class Quoted(msgspec.Struct, frozen=True):
    """An erased entry whose quotes must be erased too. `messages`: its ids on its platform, by
    which later messages quote it; `beginning`: the text by which notes quote it; `after`: the
    progress so far.
    """

    session_key: str
    by: str
    messages: tuple[str, ...]
    beginning: str
    after: int


def erase(unit: Unit, key: str, seq: int, by: str) -> None:
    """Remove one payload and record that in the log; the chain still holds. Repeating it has no
    effect. An unsent message with that content is dropped too.

    Raises UsageError if there is no such entry, or if the entry itself records an erasure.
    """
    where = sa.and_(_e.c.session_key == key, _e.c.seq == seq)
    row = unit.execute(sa.select(_e.c.run_id, _e.c.kind, _e.c.payload).where(where)).first()
    if row is None or row.kind == "erased":
        raise UsageError(f"the log of {key} has no entry {seq} that could be erased")
    _forget_unreadable(unit, key)
    if row.payload is None:
        note_archived(unit, key, seq)
        return
    body = log.read_body(key, seq, row.payload)
    note_blobs(unit, [row.payload])
    note(unit, LOGGED, f"{key} {seq}")
    _remove(unit, key, seq, by)
    messages = empty_copies(unit, key, row.run_id, body)
    text = getattr(body, "text", "")
    session_titles.forget(unit, key, seq, text)
    quoted = Quoted(key, by, tuple(sorted(messages - {""})), text.strip()[:_QUOTED], seq)
    note(unit, QUOTES, msgspec.json.encode(quoted).decode())


def empty_copies(unit: Unit, key: str, run_id: str, body: log_entries.Body) -> set[str]:
    """Remove an entry's copies from other tables; returns its ids on its platform."""
    if isinstance(body, UserEntry):
        _empty_copies(unit, body, run_id)
        return {body.message_id}
    if isinstance(body, PostEntry):
        digests = sa.and_(_o.c.session_key == key, _o.c.key.startswith(DIGEST))
        which = sa.or_(_o.c.key == body.key, digests)
        return _empty_outbound(unit, which, body.text)
    if isinstance(body, ReplyEntry | FailedEntry) and run_id:
        if isinstance(body, ReplyEntry) and body.tool_calls:
            _empty_approvals(unit, key, run_id, body.call)
        return _empty_outbound(unit, _of_run(run_id), body.text)
    return set()


def bare_inbound(body: bytes) -> bytes:
    """The sender, the place, the message's id and the time; nothing of its content."""
    message = msgspec.json.decode(body, type=InboundMessage)
    return msgspec.json.encode(
        InboundMessage(
            address=message.address,
            message_id=message.message_id,
            dedupe_key=message.dedupe_key,
            sender=Sender(message.sender.id),
            text="",
            sent_at=message.sent_at,
            group=message.group,
            origin=message.origin,
        )
    )


def _forget_unreadable(connection: Connection, key: str) -> None:
    """Rows in quarantine may contain copies that cannot be identified: those of the conversation
    are removed too.
    """
    connection.execute(sa.delete(_q).where(_q.c.session_key == key))


def _remove(unit: Unit, key: str, seq: int, by: str) -> None:
    where = sa.and_(_e.c.session_key == key, _e.c.seq == seq)
    unit.execute(sa.update(_e).where(where).values(payload=None, salt=None))
    lane = log.lane_of(unit, key)
    log.append(unit, lane, "", [log_entries.ErasedEntry(seq=seq, by=by)])
    words.remove(unit, key, [seq])


def erase_quotes(unit: Unit, names: Sequence[str]) -> None:
    """Erase some of the later entries that quote the erased one; the rest is noted."""
    done(unit, QUOTES, names)
    for name in names:
        further = _erase_quotes(unit, msgspec.json.decode(name.encode(), type=Quoted))
        if further is not None:
            note(unit, QUOTES, msgspec.json.encode(further).decode())


def _erase_quotes(unit: Unit, quoted: Quoted) -> Quoted | None:
    key = quoted.session_key
    query = (
        sa.select(_e.c.seq, _e.c.run_id, _e.c.payload)
        .where(_e.c.session_key == key, _e.c.seq > quoted.after)
        .where(_e.c.kind.in_(("user", "undelivered")))
        .order_by(_e.c.seq)
        .limit(ROWS)
    )
    rows = unit.execute(query).all()
    for row in rows:
        body = log.body_of(key, row.seq, row.payload)
        if isinstance(body, UserEntry) and body.quote and body.reply_to in quoted.messages:
            _remove(unit, key, row.seq, quoted.by)
            _empty_copies(unit, body, row.run_id)
        elif isinstance(body, UndeliveredEntry) and _quotes(body.text, quoted.beginning):
            _remove(unit, key, row.seq, quoted.by)
    more = len(rows) == ROWS
    return msgspec.structs.replace(quoted, after=rows[-1].seq) if more else None


def _quotes(note_text: str, beginning: str) -> bool:
    """Whether a note from the gateway repeats the beginning of the entry."""
    return bool(beginning) and beginning in note_text


_QUOTED = 200
"""The most characters of a message that a note repeats, see bury."""


def _of_run(run_id: str) -> sa.ColumnElement[bool]:
    """Messages of a run by their keys, which start with its id."""
    return _below(run_id)


def _below(key: str) -> sa.ColumnElement[bool]:
    """Messages whose keys start with this prefix, by an index."""
    return begins(_o.c.key, f"{key}:")


def _empty_copies(connection: Connection, body: UserEntry, run_id: str) -> None:
    """Other copies of a message: its row in the inbox, and the assignment of a job or a run."""
    row = sa.select(_i.c.body).where(_i.c.id == body.inbound_id)
    inbound = connection.scalar(row)
    if inbound is not None:
        emptied = sa.update(_i).where(_i.c.id == body.inbound_id)
        connection.execute(emptied.values(body=bare_inbound(inbound)))
        job = job_of(msgspec.json.decode(inbound, type=InboundMessage).dedupe_key)
        if job is not None:
            due = sa.update(_occurrences).where(_occurrences.c.job_id == job)
            theirs = due.where(_occurrences.c.inbound_id == body.inbound_id)
            connection.execute(theirs.values(body=msgspec.json.encode("")))
    task = sa.update(_t).where(_t.c.run_id == run_id)
    connection.execute(task.values(title="", input=b"{}"))


def _empty_outbound(unit: Unit, which: sa.ColumnElement[bool], text: str) -> set[str]:
    """Messages among `which` that contain the text, or begin with what they quote of it; returns
    their ids on their platform.
    """
    messages: set[str] = set()
    rows = unit.execute(sa.select(_o.c.id, _o.c.body).where(which)).all()
    for identity, body in rows:
        message = msgspec.json.decode(body, type=OutboundMessage)
        quoted = text.strip() in message.text or message.text[:_QUOTED] in text
        if message.key.startswith(DIGEST):
            quoted = begun(text) in message.text
        if text.strip() and quoted:
            messages |= _empty_message(unit, identity, message)
    return messages


def _empty_message(unit: Unit, identity: int, message: OutboundMessage) -> set[str]:
    receipts = sa.select(_p.c.receipt).where(_p.c.outbound_id == identity)
    messages = {receipt for receipt in unit.scalars(receipts) if receipt}
    note_blobs(unit, [msgspec.json.encode(message)])
    bare = msgspec.structs.replace(message, text="", attachments=(), choices=())
    emptied = sa.update(_o).where(_o.c.id == identity)
    unit.execute(emptied.values(body=msgspec.json.encode(bare), error=None))
    dropped = emptied.where(sa.or_(schema.OUTBOUND_OPEN, schema.OUTBOUND_HELD))
    unit.execute(dropped.values(state="dropped", settled_at=unit.now))
    unit.execute(sa.delete(_p).where(_p.c.outbound_id == identity))
    return messages


def _empty_approvals(unit: Unit, key: str, run_id: str, call: int) -> None:
    """Approval requests for the calls of a reply, and the questions as they were sent to chats."""
    query = sa.select(_a.c.id, _a.c.body).where(_a.c.session_key == key, _a.c.run_id == run_id)
    for identity, body in unit.execute(query).all():
        approval = msgspec.json.decode(body, type=Approval)
        if approval.model_call != call:
            continue
        bare = msgspec.structs.replace(
            approval, arguments="{}", question="", choices=(), answer="", why="", sender_name=""
        )
        emptied = sa.update(_a).where(_a.c.id == identity)
        unit.execute(emptied.values(body=msgspec.json.encode(bare)))
        questions = sa.select(_o.c.id, _o.c.body).where(_below(APPROVALS.of(identity)))
        for number, message in unit.execute(questions).all():
            decoded = msgspec.json.decode(message, type=OutboundMessage)
            _empty_message(unit, number, decoded)
