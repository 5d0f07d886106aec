"""Pausing: a job that cannot run is stopped with the reason, and its owner is told once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec
import sqlalchemy as sa
from loguru import logger

from nanobot import labels
from nanobot.labels import Label
from nanobot.messages import Address, InboundMessage, OutboundKind, OutboundMessage
from nanobot.plugins.common.jobs.plans import Plan
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.jobs.store import occurrences, pausing
from nanobot.plugins.jobs.store.effects import Effects
from nanobot.plugins.jobs.store.occurrences import NewOccurrence
from nanobot.session.keys import Keys
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import chats, outbox
from nanobot.text import Sentence

_i = schema.inbound
_j = job_tables.jobs

PAUSED = Keys("paused")
"""One per notice that jobs were paused. Never change it: databases contain it."""
_AT_ONCE = 100
_LISTED = 10
_LOOKED_AT = 5_000
"""The latest messages that are searched for a private chat of a person."""
_LOOKED_AT_OF_OWNERS = 200

_NOTICES = Prepared(
    sa.select(*(_j.c.id, _j.c.name, _j.c.owner, _j.c.channel, _j.c.chat_id, _j.c.reason, _j.c.body))
    .where(job_tables.JOB_NOTICE)
    .order_by(_j.c.id)
    .limit(_AT_ONCE)
)
_SPOKEN = Prepared(
    sa.select(_i.c.session_key, _i.c.body)
    .where(
        schema.INBOUND_SPOKEN,
        _i.c.channel == sa.bindparam("c"),
        _i.c.chat_id == sa.bindparam("chat"),
    )
    .order_by(_i.c.id.desc())
    .limit(1)
)
_OF_PERSON = (
    sa.select(_i.c.session_key, _i.c.body)
    .where(
        _i.c.id > sa.select(sa.func.max(_i.c.id) - _LOOKED_AT).scalar_subquery(),
        _i.c.origin == "user",
        _i.c.channel == sa.bindparam("c"),
        _i.c.sender_id == sa.bindparam("s"),
    )
    .order_by(_i.c.id.desc())
)
_NEXT_CHANNEL = sa.select(sa.func.min(_i.c.channel)).where(
    schema.INBOUND_OWNERS, _i.c.channel > sa.bindparam("c")
)
_OF_OWNERS = (
    sa.select(_i.c.session_key, _i.c.body)
    .where(schema.INBOUND_OWNERS, _i.c.channel == sa.bindparam("c"))
    .order_by(_i.c.id.desc())
    .limit(_LOOKED_AT_OF_OWNERS)
)


def pause(effects: Effects, row: Any, reason: str, status: str) -> None:
    """Pause an active job. The time that it could not run at gets a row with that status."""
    pausing.pause(effects, row.id, reason)
    if row.next_at is not None:
        occurrence = NewOccurrence(
            job_id=row.id, scheduled_at=row.next_at, status=status, error=reason
        )
        occurrences.insert(effects.unit, occurrence, effects.now)


def tell(effects: Effects) -> bool:
    """Tell owners of paused jobs, with one message for all of an owner's jobs that have the same
    chat and reason. Returns True if there may be more.
    """
    rows = _NOTICES.execute(effects.unit).all()

    def same(row: Any) -> tuple[str, str, str, str]:
        return row.owner, row.channel, row.chat_id, row.reason or ""

    for (owner, channel, chat, reason), group in groupby(sorted(rows, key=same), same):
        jobs = list(group)
        done = sa.update(_j).where(_j.c.id.in_([row.id for row in jobs]))
        effects.unit.execute(done.values(notice_due=False))
        with effects.contained(f"notice to {owner}") as (own, _):
            _notify(own, owner, Address(channel, chat), _text(jobs, reason), _label_of(jobs))
    return len(rows) == _AT_ONCE


def _text(jobs: Sequence[Any], reason: Sentence) -> Sentence:
    names = ", ".join(f"#{row.id} ({row.name})" for row in jobs[:_LISTED])
    if len(jobs) > _LISTED:
        names += f" and {len(jobs) - _LISTED} more"
    end = "" if reason.endswith((".", "?", "!")) else "."
    if len(jobs) == 1:
        return (
            f"The job {names} was paused: {reason}{end} "
            "`cron resume` and the number continues it, `cron remove` forgets it."
        )
    return (
        f"The jobs {names} were paused: {reason}{end} "
        "`cron resume` and the number continues them, `cron remove` forgets them."
    )


def _label_of(jobs: Sequence[Any]) -> Label:
    """Whose words the names of jobs are."""
    return labels.joined(map(_spoken, jobs))


def _spoken(row: Any) -> Label:
    try:
        return msgspec.json.decode(row.body, type=Plan).spoken
    except (msgspec.DecodeError, UnicodeDecodeError):
        return labels.UNKNOWN


def _notify(effects: Effects, owner: str, chat: Address, text: str, label: Label) -> None:
    place = _place(effects.unit, owner, chat)
    if place is None:
        logger.warning("{} has no chat in which to be told: {}", owner or "nobody", text)
        return
    session_key, address = place
    message = OutboundMessage(
        address=address,
        text=text,
        kind=OutboundKind.NOTICE,
        key=PAUSED.of(effects.unit.writer.ids.run_id()),
        requested=True,
        tainted=label.tainted,
        label=label.encoded(),
    )
    outbox.post(effects.unit, session_key, message)
    effects.owes.append(address)


def _place(connection: Connection, owner: str, chat: Address) -> tuple[str, Address] | None:
    """The session and chat for a notice: that of the job, else a private one of its owner, else a
    private one of an owner of the gateway; the first that messages can reach.
    """
    channel, _, sender = owner.partition(":")
    candidates = [
        *_SPOKEN.execute(connection, c=chat.channel, chat=chat.chat_id).all(),
        *_private(connection.execute(_OF_PERSON, {"c": channel, "s": sender}).all()),
    ]
    name = connection.scalar(_NEXT_CHANNEL, {"c": ""})
    while name is not None:
        candidates += _private(connection.execute(_OF_OWNERS, {"c": name}).all())
        name = connection.scalar(_NEXT_CHANNEL, {"c": name})
    seen: set[Address] = set()
    for row in candidates:
        address = msgspec.json.decode(row.body, type=InboundMessage).address
        if address not in seen and chats.unreachable(connection, address) is None:
            return row.session_key, address
        seen.add(address)
    return None


def _private(rows: Sequence[Any]) -> list[Any]:
    """Whether the chat has no other readers."""
    return [row for row in rows if not msgspec.json.decode(row.body, type=InboundMessage).group]
