"""A row of the poisoned chat in each state of each table, and the bad values of each column."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from nanobot.session.states import RunState
from nanobot.store.database import schema
from tests.poison.judging import Case
from tests.poison.world import VICTIM, Served

KEY = f"telegram:{VICTIM}"


class Cell(NamedTuple):
    """One value of one row, in the state that the row has, and what is put there."""

    table: str
    row: tuple[Any, ...]
    """Its primary key."""
    state: str
    column: str
    what: str
    value: Any

    def __str__(self) -> str:
        state = f"[{self.state}]" if self.state else ""
        return f"{self.table}{state}.{self.column} = {self.what}"


def state_column(table: sa.Table) -> str | None:
    """The column that says in which state a row is."""
    return next((name for name in ("state", "status") if name in table.columns), None)


def bad_values(column: sa.Column[Any]) -> Iterator[tuple[str, Any]]:
    """What may stand in a column that a disk or another program has spoiled. SQLite keeps any
    value in any column, but for NULL where it is forbidden, and in the key of the rows."""
    kind = column.type.python_type
    keyed = isinstance(column.type, sa.BigInteger) and column.primary_key
    if column.nullable:
        yield "NULL", None
    if kind is bytes:
        yield "unreadable", b"\xff\xfe{"
        yield "empty", b""
        yield "another shape", b'{"a":[1e999,{}]}'
        yield "text", "no bytes"
    elif kind is str:
        yield "unreadable", b"\xff\xfe"
        yield "unknown", "what nobody knows"
        yield "huge", "9" * 100_000
        yield "odd", "\ufeff\x01:\u202e/../"
    else:
        if not (keyed and len(column.table.primary_key) == 1):
            yield "unreadable", b"\xff\xfe"
            yield "text", "what is this"
            yield "infinite", float("inf")
        yield "huge", 2**63 - 1
        yield "negative", -(2**62)


def expand(home: Path) -> None:
    """Give the poisoned chat a row in each table, and in each state of it."""
    with closing(sqlite3.connect(home / "state.db")) as connection, connection:
        connection.create_function("regexp", 2, lambda *_: 1)
        for table in schema.metadata().sorted_tables:
            if not _rows(connection, table):
                _example(connection, table)
        for index, state in enumerate(RunState):
            _conversation(connection, f"{VICTIM}{index:02}", index, state)
        for table in schema.metadata().sorted_tables:
            name = state_column(table)
            if name is not None:
                _states(connection, table, name)
            elif table.name not in _OF_CONVERSATION and _chat_column(table) is not None:
                _clones(connection, table)


VICTIMS = (VICTIM, *(int(f"{VICTIM}{index:02}") for index in range(len(RunState))))
"""The chats whose rows are poisoned."""


def _columns(table: sa.Table) -> list[str]:
    return [column.name for column in table.columns]


def _chat_column(table: sa.Table) -> str | None:
    """The column that says of which chat a row is, if any does."""
    if table.name == "sessions":
        return "key"
    return next((name for name in ("session_key", "chat_id") if name in table.columns), None)


def _is_victims(table: sa.Table) -> str:
    """Which rows of a table are the poisoned chat's; of a table without chats all are."""
    name = _chat_column(table)
    mine = VICTIM if name == "chat_id" else KEY
    return "1" if name is None else f"\"{name}\" LIKE '{mine}%'"


def _rows(connection: sqlite3.Connection, table: sa.Table) -> bool:
    query = f'SELECT 1 FROM "{table.name}" WHERE {_is_victims(table)} LIMIT 1'
    return connection.execute(query).fetchone() is not None


def _example(connection: sqlite3.Connection, table: sa.Table) -> None:
    examples: dict[type, object] = {str: "x", int: 1, float: 1.5, bytes: b"{}", bool: 0}
    own = {"session_key": KEY, "channel": "telegram", "chat_id": str(VICTIM), "role": "owner"}
    own |= {
        "run_id": "a run",
        "sender_id": str(VICTIM),
        "platform_id": "9966",
        "state": "settled",
        "status": "done",
        "said": '["",{}]',
        "accepted": "",
    }
    values = {
        column.name: own.get(column.name, examples[column.type.python_type])
        for column in table.columns
    }
    for name, value in values.items():
        choices = table.c[name].info.get("words")
        if choices is not None and value not in choices:
            values[name] = max(choices)
    if table.name == "moved_chats":  # the others' rows are to be sent
        values["chat_id"] = f"{VICTIM}09"
    _insert(connection, table, values)


def _insert(connection: sqlite3.Connection, table: sa.Table, values: dict[str, Any]) -> bool:
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("?" * len(values))
    query = f'INSERT OR IGNORE INTO "{table.name}" ({names}) VALUES ({marks})'
    return connection.execute(query, list(values.values())).rowcount == 1


def _read(connection: sqlite3.Connection, table: sa.Table, where: str) -> list[dict[str, Any]]:
    names = _columns(table)
    shown = ", ".join(f'"{name}"' for name in names)
    query = f'SELECT {shown} FROM "{table.name}" WHERE {where}'
    return [dict(zip(names, row, strict=True)) for row in connection.execute(query)]


_OF_CONVERSATION = ("sessions", "prompt_uses", "entries", "runs", "inbound", "outbound")


def _conversation(connection: sqlite3.Connection, chat: str, index: int, state: str) -> None:
    """A conversation like the poisoned chat's, whose last run is in that state."""
    for name in _OF_CONVERSATION:
        table = schema.metadata().tables[name]
        mine = f"session_key = '{KEY}'" if name != "sessions" else f"\"key\" = '{KEY}'"
        rows = _read(connection, table, mine)
        if name == "runs":
            rows = rows[-1:]
        for number, row in enumerate(rows):
            moved = {column: _moved(value, chat) for column, value in row.items()}
            if "id" in row and name != "runs":
                del moved["id"]
            if name == "runs":
                moved |= {"id": f"run{chat}", "state": state, "attempts": 0}
            elif "run_id" in row:
                moved["run_id"] = f"run{chat}" if row["run_id"] else row["run_id"]
            if name == "inbound":
                moved |= {"dedupe_key": f"{chat}-{number}"}
                live = number == len(rows) - 1
                moved["state"] = "taken" if live and state in _LIVE else "settled"
            if name == "outbound":
                moved["key"] = f"{chat}-{number}"
            _insert(connection, table, moved)


_LIVE = ("preparing", "model_running", "tool_running", "awaiting_human", "queued")


def _moved(value: Any, chat: str) -> Any:
    if isinstance(value, bytes) and value[:1] == b"{":
        return value.replace(f'"{VICTIM}"'.encode(), f'"{chat}"'.encode()).replace(
            f'{KEY}"'.encode(), f'telegram:{chat}"'.encode()
        )
    if value == KEY:
        return f"telegram:{chat}"
    return chat if value == str(VICTIM) else value


def _states(connection: sqlite3.Connection, table: sa.Table, name: str) -> None:
    """A row in each state, of the last row that there is."""
    rows = _read(connection, table, _is_victims(table))
    there = {row[name] for row in rows}
    for number, state in enumerate(sorted(table.c[name].info.get("words") or ())):
        if state not in there:
            _insert(connection, table, _like(table, rows[-1], number) | {name: state})


def _clones(connection: sqlite3.Connection, table: sa.Table) -> None:
    """The last row, for each chat that is like the poisoned one."""
    row = _read(connection, table, _is_victims(table))[-1]
    for index in range(len(RunState)):
        moved = {name: _moved(value, f"{VICTIM}{index:02}") for name, value in row.items()}
        _insert(connection, table, _like(table, moved, index))


def _like(table: sa.Table, row: dict[str, Any], number: int) -> dict[str, Any]:
    """A row like that one, which the table takes besides it."""
    made = dict(row)
    if "id" in table.columns and table.columns["id"].type.python_type is int:
        del made["id"]
    for unique in ("key", "dedupe_key", "name", "id", "code", "digest", "sender_id"):
        if isinstance(made.get(unique), str):
            made[unique] = f"{made[unique]}-{number}"
        elif isinstance(made.get(unique), bytes):
            made[unique] = bytes([number]) * 32
    for counted in ("idx", "scheduled_at", "call"):
        if counted in made:
            made[counted] += number + 1
    return made


def cells(home: Path, tables: Sequence[str] = ()) -> list[Cell]:
    """Every bad value of every column, in every state of every table."""
    found = []
    with closing(sqlite3.connect(home / "state.db")) as connection:
        for table in schema.metadata().sorted_tables:
            if tables and table.name not in tables:
                continue
            for state, rows in _chosen(connection, table).items():
                values = [
                    (column.name, *bad) for column in table.columns for bad in bad_values(column)
                ]
                found += [
                    Cell(table.name, row, state, *value)
                    for row, value in zip(itertools.cycle(rows), values, strict=False)
                ]
    return found


def _chosen(connection: sqlite3.Connection, table: sa.Table) -> dict[str, list[tuple[Any, ...]]]:
    """By their primary keys: the last row of each state, or, where there are no states, of each
    chat. So chats that are alike have one bad value each."""
    state, chat = state_column(table), _chat_column(table)
    last: dict[tuple[str, Any], tuple[Any, ...]] = {}
    for row in _read(connection, table, _is_victims(table)):
        at = (row[state], "") if state else ("", row[chat] if chat else "")
        last[at] = tuple(row[column.name] for column in table.primary_key)
    return {name: [key for (of, _), key in last.items() if of == name] for name, _ in last}


def batches(chosen: Sequence[Cell], size: int) -> Iterator[list[Cell]]:
    """All of them, so many at once, of which no two are in one row."""
    left = list(chosen)
    while left:
        batch, rows, rest = list[Cell](), set[tuple[object, ...]](), list[Cell]()
        for cell in left:
            row = (cell.table, cell.row)
            if len(batch) < size and row not in rows:
                batch.append(cell)
                rows.add(row)
            else:
                rest.append(cell)
        yield batch
        left = rest


def spoil(home: Path, cell: Cell) -> bool:
    """Put the value there; False where the database refuses it, so that it cannot be there."""
    table = schema.metadata().tables[cell.table]
    own = " AND ".join(f'"{column.name}" = ?' for column in table.primary_key)
    query = f'UPDATE "{cell.table}" SET "{cell.column}" = ? WHERE {own}'
    with closing(sqlite3.connect(home / "state.db")) as connection:
        try:
            with connection:
                return connection.execute(query, (cell.value, *cell.row)).rowcount == 1
        except sqlite3.IntegrityError:
            return False


def spoiled(chosen: Sequence[Cell], *, running: bool = False) -> Case:
    """These are spoiled before the start, or, by another program, while the gateway serves."""
    name = " and ".join(map(str, chosen))

    def poison(home: Path) -> None:
        for cell in chosen:
            spoil(home, cell)

    def meanwhile(here: Served) -> None:
        poison(here.home)
        speak(here)

    return Case(name, meanwhile=meanwhile) if running else Case(name, poison, speak)


def speak(here: Served) -> None:
    """The poisoned chats have something to say, too."""
    for chat in VICTIMS:
        here.telegram.say(chat, f"say:poisoned {chat}")
