"""Admission: messages are committed with their channel's cursor, once each, before any
follow-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from nanobot.messages import InboundMessage, Origin, OutboundKind, OutboundMessage, plausible
from nanobot.session import keys
from nanobot.session.inbox import Admission, Admitted, Busy
from nanobot.session.runs import NewRun, Run, kind_for
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone, insert_or_set, nothing_follows
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import PreparedResult
from nanobot.store.held_lanes import Hold
from nanobot.store.journal import accounts, chats, inbox, log, outbox, runs, versions
from nanobot.store.journal.starting import LaneAtHand, Start
from nanobot.store.unit import Unit
from nanobot.text import Sentence, title_of

_c = schema.channels
_i = schema.inbound
_s = schema.sessions

_THAT = sa.and_(
    _i.c.channel == sa.bindparam("c"),
    _i.c.chat_id == sa.bindparam("chat"),
    _i.c.dedupe_key == sa.bindparam("d"),
)
_NUMBERED = _i.c.account == sa.bindparam("a")
_SEEN = Prepared(sa.select(_i.c.id).where(_THAT, _NUMBERED))
_SEEN_OF_PERSON = Prepared(sa.select(_i.c.id).where(_THAT, _i.c.account == accounts.CURRENT))
_SHARED = Prepared(sa.update(_s).where(schema.THIS_SESSION, ~_s.c.shared).values(shared=True))
_TITLE = Prepared(
    sa.update(_s).where(schema.THIS_SESSION, _s.c.title == "").values(title=sa.bindparam("title"))
)
_CURSOR = Prepared(sa.select(_c.c.cursor).where(_c.c.name == sa.bindparam("n")))


def cursor(connection: Connection, channel: str) -> str | None:
    """The stored cursor of a channel's intake."""
    value: str | None = _CURSOR.scalar(connection, n=channel)
    return value


def set_cursor(connection: Connection, channel: str, value: str) -> None:
    """Move a channel's cursor."""
    insert_or_set(connection, _c, ("cursor",), {"name": channel, "cursor": value})


class _Limits(msgspec.Struct, frozen=True):
    """Limits for the messages of one call of Journal.admit, and where they come from."""

    channel: str
    lane: int
    busy: Busy
    only: bool
    """It is the only message."""
    start: Start | None = None
    """If it may begin its run at once."""


def admit(
    unit: Unit,
    channel: str,
    admissions: Sequence[Admission],
    cursor: str | None,
    lane_limit: int,
    busy: Busy = Busy(),  # noqa: B008 - frozen
) -> list[Admitted]:
    if len(admissions) > 1:
        # Sorted, because two batches with the same messages in another order would deadlock.
        alone(unit, f"admit {channel}")
    if cursor is not None:
        set_cursor(unit, channel, cursor)
    limits = _Limits(channel, lane_limit, busy, len(admissions) == 1)
    account = accounts.current(unit, channel)
    return [_admit_one(unit, admission, limits, account) for admission in admissions]


def admit_claiming(  # noqa: PLR0913 - the parameters of the port
    unit: Unit,
    hold: Hold,
    channel: str,
    admission: Admission,
    cursor: str | None,
    lane_limit: int,
    busy: Busy,
    new: NewRun,
) -> Admitted:
    hold.release()  # as in `claim`
    if cursor is not None:
        set_cursor(unit, channel, cursor)
    limits = _Limits(channel, lane_limit, busy, only=True, start=Start(hold, new))
    account = accounts.current(unit, channel)
    return _admit_one(unit, admission, limits, account)


class _Asked:
    """What an admission has to know, asked at once. `lane`: the lane that its message may take."""

    def __init__(self, unit: Unit, admission: Admission, limits: _Limits) -> None:
        message, key = admission.message, admission.session_key
        address = message.address
        chat: dict[str, str | int] = {"c": address.channel, "chat": address.chat_id}
        query = chat | {"d": message.dedupe_key}
        if message.origin is Origin.USER:  # its account is not known yet
            self.seen = _SEEN_OF_PERSON.execute(unit, query | {"n": limits.channel})
        else:
            self.seen = _SEEN.execute(unit, query | {"a": 0})
        self.refusal = chats.REFUSAL.execute(unit, chat)
        self.session = log.EXISTS.execute(unit, k=key)
        self.others = runs.WAITING.execute(unit, k=key)
        start = limits.start
        self.lane = None if start is None else LaneAtHand(unit, key, start)


class _Verdict(NamedTuple):
    """Whether a message waits in its lane, for `held` seconds at least, and what answers it at
    once. `first`: nothing else waits there, and nothing holds it back. `stands_for`: the key of the
    message that was not admitted, of which it is a version."""

    waits: bool
    answer: OutboundMessage | None = None
    refused: bool = False
    held: float = 0.0
    first: bool = False
    stands_for: str = ""


def _admit_one(
    unit: Unit, admission: Admission, limits: _Limits, current: PreparedResult
) -> Admitted:
    message = plausible(admission.message, unit.now)
    admission = msgspec.structs.replace(admission, message=message)
    kind = kind_for(message.origin)
    again = Admitted(inbound_id=0, session_key=admission.session_key, kind=kind, fresh=False)
    asked = _Asked(unit, admission, limits)
    if asked.seen.first() is not None:
        return again
    if message.deleted:
        versions.withdraw(unit, message, current.scalar() or 0)
        return again
    admission, account = accounts.of(admission, current.scalar() or 0)
    if message.origin is Origin.USER and asked.refusal.first() is not None:
        chats.reached(unit, message.address)
    _begin_session(unit, admission, asked.session.first())
    if message.group:
        _SHARED.execute(unit, k=admission.session_key)
    verdict = _verdict(unit, admission, asked, limits, account)
    row = inbox.row_of(admission, unit.now, waits=verdict.waits, held=verdict.held, account=account)
    row["dedupe_key"] = verdict.stands_for or message.dedupe_key
    if verdict.first and asked.lane is not None and asked.lane.is_free():
        identity, claim = asked.lane.begin(admission, row)
        return msgspec.structs.replace(again, inbound_id=identity, fresh=True, claim=claim)
    orders = admission.stop is not None
    interrupts = verdict.waits and limits.busy.mode == "interrupt"
    if limits.only and verdict.answer is None and not orders and not interrupts:
        nothing_follows(unit)
    new = inbox.insert_row(unit, row)
    if new is None:
        return again  # another process admitted it at this moment
    if verdict.answer is not None:
        outbox.owe(unit, admission.session_key, "", [verdict.answer])
    return Admitted(
        inbound_id=new,
        session_key=admission.session_key,
        kind=kind,
        fresh=True,
        refused=verdict.refused,
        owes=None if verdict.answer is None and not orders else message.address,
        stopped=_ended(unit, admission, limits.busy, waits=verdict.waits),
        held=verdict.held,
    )


def _begin_session(unit: Unit, admission: Admission, session: Any) -> None:
    """Create the session of a message if necessary (`session` is its row, if it existed). The
    message gives it a title if it can; a command cannot."""
    spoken = admission.for_run and not admission.message.command
    text = admission.message.text if spoken else ""
    if session is None:
        log.ensure_session(unit, admission.session_key, text)
    elif text and not session.title:
        _TITLE.execute(unit, k=admission.session_key, title=title_of(text))


def _verdict(
    connection: Connection, admission: Admission, asked: _Asked, limits: _Limits, account: int
) -> _Verdict:
    original, stands_for = admission.message.edit_of, ""
    if original is not None:
        edit = _edit(connection, admission, account)
        if admission.for_run and not edit.waits:
            return edit
        stands_for = edit.stands_for
    if not admission.for_run:
        return _Verdict(waits=False, answer=admission.answer, stands_for=stands_for)
    waiting = asked.others.scalar() or 0
    if waiting >= limits.lane:
        full = _too_many(admission.message, waiting, account)
        return _Verdict(waits=False, answer=full, refused=True)
    held = _hold(connection, admission, limits.busy)
    first = not waiting and not held and not admission.awaiting_files
    return _Verdict(waits=True, held=held, first=first, stands_for=stands_for)


def _edit(connection: Connection, admission: Admission, account: int) -> _Verdict:
    """Handle a new version of a message: whether it waits, and the notice to its sender. It waits
    like any other while a run answers the original, or if a group's original was not admitted (it
    did not mention the assistant) and is known by this version from now on. It replaces a version
    that no run has taken; a command does so, too. If the original is answered it is not answered
    again, and the sender is told once. A version that changes nothing has no effect."""
    message, nothing = admission.message, _Verdict(waits=False)
    known = versions.known(connection, message, account)
    if not known:
        first = message.edit_of if message.group else ""
        return _Verdict(waits=message.group, stands_for=first or "")
    if known[0].message.sender.id != message.sender.id:
        return nothing
    waiting = [version for version in known if version.state == "pending"]
    if not admission.for_run:
        versions.settle(connection, known)
    elif not known[-1].differs_from(message):
        return nothing
    elif waiting:
        versions.replace(connection, waiting[-1], admission)
    elif all(version.state == "settled" for version in known):
        late = _too_late(message, known[0].id, answered=versions.answered(connection, known))
        return _Verdict(waits=False, answer=late)
    return _Verdict(waits=not waiting)


def _hold(connection: Connection, admission: Admission, busy: Busy) -> float:
    """Seconds to hold a message back, so that related messages are taken together."""
    if admission.message.origin is not Origin.USER:
        return 0.0
    if busy.mode == "collect" and runs.live(connection, admission.session_key):
        return busy.collect_seconds
    return busy.group_seconds if admission.message.group_id is not None else 0.0


def _ended(unit: Unit, admission: Admission, busy: Busy, *, waits: bool) -> Run | None:
    """The run that this message ends, by an order to stop or by an interrupt."""
    if admission.stop is not None:
        return runs.stop(unit, admission)
    if waits and busy.mode == "interrupt" and admission.message.origin is Origin.USER:
        return runs.interrupt(unit, admission)
    return None


def _too_late(message: InboundMessage, original: int, *, answered: bool) -> OutboundMessage:
    late = "This edit came too late. Send it again if you want an answer."
    again = "I had already answered this. Send it again if you want a new answer."
    return _notice(message, keys.EDITED.of(original), again if answered else late)


def _too_many(message: InboundMessage, waiting: int, account: int) -> OutboundMessage:
    text = (
        f"I did not take this message: {waiting} are waiting here already. "
        "Please send it again when I have answered some, or /stop to drop them."
    )
    key = keys.FULL.of(keys.message(message.address, message.dedupe_key))
    return accounts.numbered(_notice(message, key, text, failed=True), account)


def _notice(
    message: InboundMessage, key: str, text: Sentence, *, failed: bool = False
) -> OutboundMessage:
    return OutboundMessage(
        address=message.address,
        kind=OutboundKind.NOTICE,
        key=key,
        reply_to=message.message_id,
        only_for=message.sender.id,
        text=text,
        failed=failed,
    )
