"""The rows in quarantine: listed, shown, and put back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from nanobot.errors import UnknownId, UsageError
from nanobot.messages import Address
from nanobot.plugins.quarantine.content import QuarantinedColumns, QuarantinedContent
from nanobot.plugins.quarantine.store import telling
from nanobot.plugins.quarantine.store import values as raw_values
from nanobot.session.quarantine import Quarantined
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.quarantine import raw
from nanobot.store.quarantine.raw import KeptRow, Page, Raw
from nanobot.store.quarantine.readable import flaws
from nanobot.store.unit import Unit

_q = schema.quarantine


def listed(
    connection: Connection,
    *,
    tables: Collection[str] = (),
    session: str = "",
    restored: bool = False,
    limit: int = 100,
) -> list[Quarantined]:
    """The latest first. No `tables`: of all tables; no `session`: of all sessions."""
    query = sa.select(_q).order_by(_q.c.id.desc()).limit(limit)
    if tables:
        query = query.where(_q.c.of_table.in_(tables))
    if session:
        query = query.where(_q.c.session_key == session)
    if not restored:
        query = query.where(_q.c.state != "restored")
    return [_view(row) for row in connection.execute(query)]


def shown(connection: Connection, identity: int) -> QuarantinedContent:
    """One row with its content. Raises UnknownId."""
    row = _found(connection, identity)
    content = tuple(
        QuarantinedColumns(table=kept.table, columns=raw_values.shown(kept))
        for kept in raw_values.decode(row.content)
    )
    return QuarantinedContent(row=_view(row), content=content)


def restore(unit: Unit, identity: int, values: Mapping[str, str]) -> Quarantined:
    """Put a row back into its table, with these values in its columns, together with all rows that
    were moved along. Raises UnknownId, and UsageError if the row is still unreadable or its key is
    in use.
    """
    row = _found(unit, identity)
    if row.state == "restored":
        raise UsageError(f"row {identity} was put back already.")
    first, *others = raw_values.decode(row.content)
    table = schema.metadata().tables[first.table]
    first = KeptRow(first.table, first.columns | _given(table, values))
    _refuse_unreadable([first, *others], unit.now)
    if row.state == "repaired":
        key = raw.key_of(table, first.columns)
        changed = {name: first.columns[name] for name in row.of_column.split(", ")}
        _put_into(unit, table, key, changed | _given(table, values))
    else:
        others = [first, *others]
    for kept in others:
        try:
            raw_values.insert(unit, schema.metadata().tables[kept.table], kept.columns)
        except IntegrityError as error:
            raise UsageError(
                f"row {identity} cannot be put back: {kept.table} has another row with its key."
            ) from error
    unit.execute(sa.update(_q).where(_q.c.id == identity).values(state="restored"))
    return msgspec.structs.replace(_view(row), state="restored")


def _given(table: sa.Table, values: Mapping[str, str]) -> dict[str, Raw]:
    given: dict[str, Raw] = {}
    for name, text in values.items():
        if name not in table.c:
            raise UsageError(f"{table.name} has no column {name}.")
        try:
            given[name] = raw_values.typed(table.c[name], text)
        except (ValueError, OverflowError) as error:
            raise UsageError(f"{name} cannot be {text!r} ({error}).") from error
    return given


def _refuse_unreadable(group: Sequence[KeptRow], now: float) -> None:
    for kept in group:
        table = schema.metadata().tables[kept.table]
        for flaw in flaws(table, kept.columns, now):
            key = raw.shown_key(raw.key_of(table, kept.columns))
            raise UsageError(
                f"{table.name} {key} still cannot be read: {flaw.column}: {flaw.reason}. Give the "
                f"column a value: --set {flaw.column}=VALUE"
            )


def _put_into(
    connection: Connection,
    table: sa.Table,
    key: Mapping[str, Raw],
    changed: Mapping[str, Raw],
) -> None:
    for row in raw.read(connection, Page(table, (raw.where(connection, key),))):
        connection.execute(sa.delete(table).where(raw.where(connection, key)))
        raw_values.insert(connection, table, {**row, **changed})
        return
    raise UsageError(f"{table.name} has no row {raw.shown_key(key)} any more.")


def _found(connection: Connection, identity: int) -> Any:
    row = connection.execute(sa.select(_q).where(_q.c.id == identity)).first()
    if row is None:
        raise UnknownId(f"there is no row {identity} in quarantine.")
    return row


def _view(row: Any) -> Quarantined:
    return Quarantined(
        id=row.id,
        table=row.of_table,
        key=row.row_key,
        column=row.of_column,
        reason=row.reason,
        state=row.state,
        at=row.at,
        with_it=_count(row.content) - 1,
        session=row.session_key,
    )


def owed_after(connection: Connection, identity: int) -> tuple[Address, ...]:
    """The recipients of the messages in quarantine."""
    kept = raw_values.decode(_found(connection, identity).content)
    chats = (telling.chat_of(each.columns) for each in kept if each.table == "outbound")
    return tuple(chat for chat in chats if chat is not None)


def _count(content: bytes) -> int:
    try:
        return len(raw_values.decode(content))
    except msgspec.MsgspecError:
        return 1
