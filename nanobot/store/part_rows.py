"""Converts the parts of messages to rows of their table, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import sqlalchemy as sa

from nanobot.messages import Attachment
from nanobot.ports import OutboundPart
from nanobot.session.outbox import PartRow

_files = msgspec.json.Decoder(Attachment | Annotated[list[Attachment], msgspec.Meta(min_length=1)])


def as_part(row: sa.Row[*tuple[Any, ...]]) -> PartRow:
    """A row as the type of the port."""
    files = () if row.file is None else _as_files(row.file)
    part = OutboundPart(
        text=row.text,
        payload=bytes(row.payload),
        key=row.key,
        file=files[0] if files else None,
        others=files[1:],
    )
    began_at = row.began_at or 0.0
    return PartRow(idx=row.idx, part=part, state=row.state, receipt=row.receipt, began_at=began_at)


def values(
    outbound_id: int,
    parts: Sequence[OutboundPart],
    first: tuple[str, float],
    standing: str | None,
    idx: int,
) -> list[dict[str, Any]]:
    """The rows of a message's parts from `idx` on; the first of them in that state since then."""
    return [
        {
            "outbound_id": outbound_id,
            "idx": number,
            "text": part.text,
            "payload": part.payload,
            "key": part.key,
            "state": "pending" if number > idx else first[0],
            "began_at": None if number > idx else first[1],
            "receipt": None if number else standing,
            "file": None if part.file is None else _of_files(part.file, part.others),
        }
        for number, part in enumerate(parts[idx:], idx)
    ]


def _of_files(file: Attachment, others: tuple[Attachment, ...]) -> bytes:
    """A single file as a value, several as a list."""
    return msgspec.json.encode([file, *others] if others else file)


def _as_files(kept: bytes) -> tuple[Attachment, ...]:
    files = _files.decode(kept)
    return (files,) if isinstance(files, Attachment) else tuple(files)
