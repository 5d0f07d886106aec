"""What another process over the same PostgreSQL may say or write: notices that are none, signals
with bad values, processes that are not there, leases by nobody with absurd times, and rows that go
bad while others work with them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import msgspec
import psycopg
from psycopg import sql

from nanobot.messages import Address
from nanobot.plugins.postgres.processes import signals
from nanobot.plugins.postgres.store.chat_claims import name_of
from nanobot.plugins.postgres.store.notices import Notices
from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.store.database import schema
from tests.poison.judging import Case, Place
from tests.poison.others import example, grouped, mutations
from tests.poison.rows import speak
from tests.poison.world import VICTIM, Served, filled
from tests.store.postgres_server import started

GHOST = "a process that is not there"
AT_ONCE = 150
COLUMNS_AT_ONCE = 4
TIMES = {
    "no number": "'NaN'",
    "infinite": "'Infinity'",
    "long ago": "-1e300",
    "absurd": "1e300",
    "next week": "extract(epoch FROM now()) + 7 * 86400",
}


class Server:
    """A PostgreSQL for this run."""

    def __init__(self, server: Any, admin: psycopg.Connection) -> None:
        self._server = server
        self._admin = admin

    def made(self, like: str = "") -> str:
        """The URL of a new database, empty or like another one."""
        name = f"poison_{uuid.uuid4().hex}"
        template = sql.SQL(" TEMPLATE {}").format(_database_of(like)) if like else sql.SQL("")
        self._admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)) + template)
        return str(self._server.get_uri(database=name))

    @contextmanager
    def copied(self, url: str) -> Iterator[str]:
        """A database like that one, for one life."""
        copy = self.made(url)
        try:
            yield copy
        finally:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(_database_of(copy))
            self._admin.execute(drop)


def _database_of(url: str) -> sql.Identifier:
    return sql.Identifier(urlsplit(url).path.removeprefix("/"))


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    """Started for these cases, and removed afterwards."""
    running = started(folder)
    try:
        with psycopg.connect(running.get_uri(), autocommit=True) as admin:
            for hurry in ("fsync", "synchronous_commit", "full_page_writes"):
                admin.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(hurry)))
            admin.execute("SELECT pg_reload_conf()")
            yield Server(running, admin)
    finally:
        running.cleanup()


async def shared(of: Server, folder: Path) -> Place:
    """A home in which everything is well, over a PostgreSQL."""
    home, url = folder / "shared", of.made()
    await filled(home, url)
    return Place(home, folder / "copy", partial(of.copied, url))


# What is said


def _say(here: Served, texts: list[str]) -> None:
    database = PostgresDatabase(here.database, workers=1)
    try:
        everybody = Notices(database, GHOST).everybody
    finally:
        database.shut()
    with psycopg.connect(here.database, autocommit=True) as connection:
        for text in texts:
            connection.execute("SELECT pg_notify(%s, %s)", (everybody, text))


def _sent(signal: Any) -> str:
    return json.dumps(["ghost", [signal]]).encode("ascii", "replace").decode()[:7_900]


def said() -> list[tuple[str, str]]:
    """Notices that are none, and every signal with every value in it spoiled."""
    nonsense = {
        "nothing": "",
        "no JSON": "\x01{]",
        "no notice": '{"a": 1}',
        "another sender": "[5, []]",
        "no signals": '["ghost", 7]',
        "an unknown signal": '["ghost", [["zz", 1]]]',
        "a deep one": "[" * 7_000,
        "a large one": "9" * 7_900,
        "a piece of nothing": '["ghost", [["p", 1, 5, 2, "x"]]]',
        "a piece of much": '["ghost", [["p", 1, 0, 1000000000, "x"]]]',
    }
    found = [(f"a notice: {name}", text) for name, text in nonsense.items()]
    for kind in get_args(signals.Signal):
        for name, signal in mutations(example(kind)):
            found.append((f"{kind.__name__}{name[1:]}", _sent(signal)))
    return found


def telling(group: list[tuple[str, str]]) -> Case:
    """Another process says these."""
    name = f"peers say: {group[0][0]} ... {group[-1][0]}"
    texts = [text for _, text in group]

    def meanwhile(here: Served) -> None:
        _say(here, texts)
        speak(here)

    return Case(name, meanwhile=meanwhile)


def ghosts() -> Iterator[Case]:
    """Processes that say that they live and do everything, and do nothing."""

    def haunted(count: int, here: Served) -> None:
        names = [f"ghost{number}" for number in range(count)]
        for name in names:
            alive = signals.Here(name, True, True, ("telegram", "email"), True, ("telegram",))
            watches = signals.Watches(name, tuple(f"telegram:{n}" for n in range(1, 11)), True)
            encoded = [msgspec.to_builtins(each) for each in (alive, watches)]
            _say(here, [json.dumps([name, encoded])])
        speak(here)

    yield Case("one process that is not there", meanwhile=partial(haunted, 1))
    yield Case("300 processes that are not there", meanwhile=partial(haunted, 300))


# What is written


def _changing(name: str, *statements: str, running: bool) -> Case:
    def change(url: str) -> None:
        with psycopg.connect(url) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def meanwhile(here: Served) -> None:
        change(here.database)
        speak(here)

    if running:
        return Case(name, meanwhile=meanwhile)
    return Case(name, meanwhile=speak, shared=change)


def leases() -> Iterator[Case]:
    """Leases of the poisoned chats, and of whole channels, by a process that is not there."""
    mine = f"key LIKE 'telegram:{VICTIM}%'"
    chat = f"('{name_of(Address('telegram', str(VICTIM)))}', '{GHOST}', {{}})"
    put = "ON CONFLICT (channel) DO UPDATE SET owner = excluded.owner, until = excluded.until"
    for running in (False, True):
        when = "while others serve" if running else "before a start"
        for name, time in TIMES.items():
            lane = f"UPDATE sessions SET owner = '{GHOST}', lease_until = {time} WHERE {mine}"
            yield _changing(f"lanes held until {name}, {when}", lane, running=running)
            held = f"INSERT INTO channel_leases VALUES {chat.format(time)} {put}"
            yield _changing(f"a chat held until {name}, {when}", held, running=running)
            whole = f"UPDATE channel_leases SET owner = '{GHOST}', until = {time}"
            yield _changing(f"channels held until {name}, {when}", whole, running=running)


def bad_values(column: Any) -> Iterator[str]:
    """What a column of that type takes and nobody meant, as SQL."""
    if column.nullable:
        yield "NULL"
    kind = column.type.python_type
    if kind is bytes:
        yield from (r"'\xff00'", "''")
    elif kind is float:
        yield from ("'NaN'", "'Infinity'", "1e300", "-1e300")
    elif kind is int:
        yield from ("9223372036854775807", "-9223372036854775808")
    elif kind is str:
        yield from ("'what nobody knows'", "repeat('9', 100000)")


def rows() -> Iterator[Case]:
    """Rows of the poisoned chat that another process spoils while this one serves, a few columns
    at once."""
    for table in schema.metadata().sorted_tables:
        columns = list(table.columns)
        for at in range(0, len(columns), COLUMNS_AT_ONCE):
            some = columns[at : at + COLUMNS_AT_ONCE]
            statements = [text for column in some for text in _spoiling(table, column)]
            names = ", ".join(column.name for column in some)
            yield _changing(f"{table.name}: {names} spoiled", *statements, running=True)


def _spoiling(table: Any, column: Any) -> Iterator[str]:
    mine = _victims(table)
    for value in bad_values(column):
        one = f"ctid = (SELECT ctid FROM {table.name} WHERE {mine} ORDER BY random() LIMIT 1)"
        update = f'UPDATE {table.name} SET "{column.name}" = {value} WHERE {one}'
        guarded = f"BEGIN {update}; EXCEPTION WHEN OTHERS THEN NULL; END"
        yield f"DO $$ BEGIN {guarded}; END $$"


def _victims(table: Any) -> str:
    names = [column.name for column in table.columns]
    if "session_key" in names:
        return f"session_key LIKE 'telegram:{VICTIM}%'"
    if "chat_id" in names:
        return f"chat_id LIKE '{VICTIM}%'"
    if table.name == "sessions":
        return f"key LIKE 'telegram:{VICTIM}%'"
    return "true"


def cases() -> Iterator[Case]:
    """All of them."""
    yield from map(telling, grouped(said(), AT_ONCE))
    yield from ghosts()
    yield from leases()
    yield from rows()
