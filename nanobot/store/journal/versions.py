"""The versions of a message: the original, its edits, and its deletion on the platform."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import sqlalchemy as sa

from nanobot.messages import Attachment, InboundMessage
from nanobot.session.inbox import Admission
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import accounts, inbox, lanes

_i = schema.inbound
_r = schema.runs
_decoder = msgspec.json.Decoder(InboundMessage)
_ROWS = sa.select(_i.c.id, _i.c.session_key, _i.c.sender_id, _i.c.state, _i.c.body)
_MOST_READ = 1_000
"""How many of the latest messages are searched for edits of one."""


class Version(msgspec.Struct, frozen=True):
    """An admitted message."""

    id: int
    state: str
    message: InboundMessage

    def differs_from(self, other: InboundMessage) -> bool:
        """Whether the other says something else, or has other files."""
        files, theirs = self.message.attachments, other.attachments
        if self.message.text != other.text or len(files) != len(theirs):
            return True
        return not all(map(_same, files, theirs))


def _same(one: Attachment, other: Attachment) -> bool:
    """Whether it is the same file. Some platforms give a file a new `ref` with each event."""
    alike = (one.kind, one.name, one.size) == (other.kind, other.name, other.size)
    return alike or one.ref == other.ref


def known(connection: Connection, message: InboundMessage, account: int) -> list[Version]:
    """The admitted versions of the message of which this is a new version, oldest first. Their lane
    is locked, because a claim may be reading them."""
    address = message.address
    chat = sa.and_(
        _i.c.channel == address.channel, _i.c.chat_id == address.chat_id, _i.c.account == account
    )
    original = _ROWS.where(chat, _i.c.dedupe_key == message.edit_of)
    row = connection.execute(original).first()
    if row is None:
        return []
    lanes.lock(connection, row.session_key)
    newest = sa.select(_i.c.id).where(_i.c.id > row.id).order_by(_i.c.id.desc()).limit(_MOST_READ)
    edits = _ROWS.where(_i.c.id.in_(newest), chat, _i.c.sender_id == row.sender_id)
    later = connection.execute(edits.order_by(_i.c.id)).all()
    first, *others = [
        Version(each.id, each.state, _decoder.decode(each.body))
        for each in (connection.execute(original).one(), *later)
    ]
    return [first, *(other for other in others if other.message.edit_of == message.edit_of)]


def answered(connection: Connection, versions: Iterable[Version]) -> bool:
    """Whether a run that took one of them has completed."""
    taken = _i.c.id.in_([version.id for version in versions])
    runs = sa.select(_r.c.id).join(_i, _i.c.run_id == _r.c.id)
    return connection.execute(runs.where(taken, _r.c.state == "completed")).first() is not None


def unchanged(connection: Connection, message: InboundMessage) -> bool:
    """See Journal.unchanged."""
    account = accounts.current(connection, message.address.channel).scalar() or 0
    if known(connection, msgspec.structs.replace(message, edit_of=message.dedupe_key), account):
        return True
    versions = known(connection, message, account)
    return bool(versions) and not versions[-1].differs_from(message)


def withdraw(connection: Connection, message: InboundMessage, account: int) -> None:
    """Drop the versions of a deleted message that no run has taken."""
    settle(connection, known(connection, message, account))


def settle(connection: Connection, versions: Iterable[Version]) -> None:
    """Settle those that wait."""
    for version in versions:
        if version.state == "pending":
            inbox.settle_one(connection, version.id)


def replace(connection: Connection, version: Version, admission: Admission) -> None:
    """Replace a version that waits by a new one, with the files that are here already."""
    old, message = version.message, admission.message
    fetched = {file.ref: file for file in old.attachments if file.ref}
    files = [fetched.get(file.ref, file) for file in message.attachments]
    new = msgspec.structs.replace(old, text=message.text, command=message.command)
    inbox.replace(connection, version.id, new, files, awaiting_files=admission.awaiting_files)
