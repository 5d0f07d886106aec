"""A value that cannot be read in any column of any table ends no list and no pass.

The cases come from the tables themselves, so a new column is among them.
"""

from __future__ import annotations

import ast
import asyncio
import itertools
import sqlite3
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.errors import RowUnreadable, StoreError
from nanobot.messages import Address
from nanobot.plugins.budgets.limits import Account
from nanobot.plugins.budgets.store.usage import SqlUsageStore
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.common.store.notices import SqlNotices
from nanobot.plugins.cron.jobs import following
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.feedback.store import SqlRatings
from nanobot.plugins.jobs.store.jobs import SqlJobs
from nanobot.plugins.memory.store.memories import SqlMemoryStore
from nanobot.plugins.memory.store.remembering import SqlRemembering
from nanobot.plugins.pairing.store.pairings import SqlPairingStore
from nanobot.plugins.shell.store import SqlBackgroundCommands
from nanobot.plugins.tasks.store.tasks import SqlTasks
from nanobot.plugins.web_access.store import SqlAccessTokens
from nanobot.session.runs import PromptSnapshot
from nanobot.store.database import migrate, schema
from nanobot.store.database.database import Database
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.opening import Store
from nanobot.store.records import SqlRecords
from nanobot.store.unit import StoreContext
from nanobot.testing.machine import CountingIds, ManualClock
from tests.plugins.budgets.ledgers import COUNTED
from tests.store.filling import OTHER, fill
from tests.store.home import Home
from tests.store.making import KEY, admit, approval, said
from tests.store.test_jobs import plan
from tests.stored import (
    approvals_of,
    consuming,
    counts_of,
    lists_of,
    log_of,
    look_through,
    outbox_of,
    runs_of,
)

ROOT = Path(__file__).resolve().parents[2]
VALUES = {
    "text": "CAST(x'78' AS TEXT)",
    "broken UTF-8": "CAST(x'ff7b' AS TEXT)",
    "bytes": "x'ff00'",
    "no JSON": "CAST(x'7b5d' AS BLOB)",
    "infinite": "9e999",
    "absurd": "1e300",
    "too large": "9223372036854775807",
    "nothing": "NULL",
}
"""What is planted, as SQL of SQLite, which keeps anything in any column."""
LEFT = frozenset({("meta", "key"), ("meta", "value")})
COLUMNS = [
    (table.name, column.name)
    for table in schema.metadata().sorted_tables
    for column in table.columns
    if (table.name, column.name) not in LEFT
]
HEALTHY = "telegram:9"
ACCOUNT = Account(person="", chat="", job="", model="")
BODIES: Mapping[str, bytes] = {
    "approvals": msgspec.json.encode(approval()),
    "memories": b"{}",
    "occurrences": b'""',
    "prompts": msgspec.json.encode(PromptSnapshot(system="", tools=())),
    "tasks": b"{}",
    "quarantine": b"[]",
}


def test_columns_that_hold_one_of_some_words_say_which() -> None:
    called_so = {at for at in COLUMNS if at[1] in ("state", "status", "kind", "role", "origin")}
    wordy = {at for at in called_so if "words" in schema.metadata().tables[at[0]].c[at[1]].info}
    assert called_so - wordy == {("tainted_files", "kind")}


def test_every_transaction_passes_the_guard() -> None:
    """Whatever is not opened here is given the database of a Store, which is the guard."""
    openers = set()
    for file in [*ROOT.glob("nanobot/**/*.py"), *ROOT.glob("channels/nanobot_channels/**/*.py")]:
        text = file.read_text("utf-8")
        if "SqliteDatabase" not in text and "PostgresDatabase" not in text:
            continue
        calls = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call))
        called = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
        if called & {"SqliteDatabase", "PostgresDatabase"}:
            openers.add(file.relative_to(ROOT / "nanobot").as_posix())
    assert openers == {
        "store/opening.py",  # gives them to a Store
        "plugins/common/store/at_rest.py",
        "plugins/maintenance/store/maintenance.py",  # a copy of a backup
        "plugins/postgres/store/server.py",  # gives one to a Store; otherwise of a store at rest
    }


class Parts:
    """What reads a store, over the guard."""

    def __init__(self, database: Database, lease: float | None = None) -> None:
        hooks = store_hooks(COUNTED)
        self.writer = StoreContext(ManualClock(), CountingIds(), "us", lease, hooks)
        self.store = Store(database, self.writer, None)
        guard, writer = self.store.database, self.writer
        eraser = SqlEraser(guard, writer)
        self.journal = self.store.journal
        self.records = SqlRecords(guard, writer)
        self.jobs = SqlJobs(guard, writer)
        self.jobs.following = following
        self.pairings = SqlPairingStore(guard, writer)
        self.tokens = SqlAccessTokens(guard, writer)
        self.memories = SqlMemoryStore(guard, writer, eraser)
        self.usage = SqlUsageStore(guard, writer)
        self.tasks = SqlTasks(guard, writer)
        self.notices = SqlNotices(guard, writer)
        self.commands = SqlBackgroundCommands(guard, writer)
        self.ratings = SqlRatings(guard, writer)
        self.remembering = SqlRemembering(guard, writer)


def passes(parts: Parts) -> Iterator[tuple[str, Awaitable[Any]]]:
    """Every list, and every pass over the rows of many people."""
    journal, records, jobs = parts.journal, parts.records, parts.jobs
    yield "start", look_through(parts.store.guard)
    yield "ready", journal.ready()
    yield "unfetched", journal.unfetched("telegram")
    yield "begun commands", journal.begun_commands("telegram")
    yield "owed chats", journal.owed_chats("telegram")
    yield "next", journal.next_outbound(Address("telegram", "7"))
    yield "oldest owed", consuming(journal).oldest_owed()
    yield "moves", journal.chat_moves("telegram")
    yield "cursor", journal.cursor("telegram")
    yield "claim", journal.claim(OTHER, "a", "UTC")
    yield "history", journal.history(KEY)
    yield "session", journal.session(KEY)
    yield "counts", counts_of(records).counts()
    yield "sessions", lists_of(records).newest(limit=50, unread=False)
    yield "runs", runs_of(records).listed(session="", state="", limit=50)
    yield "entries", log_of(records).entries(KEY, after=0, limit=50)
    yield "outbox", outbox_of(records).listed(state="", limit=50)
    yield "approvals", approvals_of(records).approvals(session="", state="", limit=50)
    yield "rules", approvals_of(records).rules()
    yield "feedback", parts.ratings.listed("", 50)
    yield "jobs", jobs.listed(state="", by="", limit=50)
    yield "cron history", jobs.history(job_id=None, limit=50)
    yield "fire", jobs.fire()
    yield "sweep", jobs.sweep(None)
    yield "settle", jobs.settle([KEY])
    yield "realign", jobs.realign(0)
    yield "pairings", parts.pairings.listed(state="", limit=50)
    yield "role", parts.pairings.role("telegram", "1")
    yield "tokens", parts.tokens.listed()
    yield "memories", parts.memories.listed(scopes=None, state="", limit=50)
    yield "usage", parts.usage.rows("day", "", {})
    yield "standing", parts.usage.standing("2026-01-01", ACCOUNT)
    yield "overdue", parts.tasks.overdue()
    yield "notices", parts.notices.latest(KEY, [KEY], since=0.0, limit=50)
    yield "lost commands", parts.commands.lost(10.0)
    yield "remembering", parts.remembering.due(0.0, "")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database with a readable row in each table."""
    return asyncio.run(_filled(tmp_path_factory.mktemp("template") / "state.db"))


async def _filled(path: Path) -> bytes:
    home = Home(lambda: _opened(path), shared=False)
    await complete_home(home)
    await home.database.close()
    return await asyncio.to_thread(path.read_bytes)


async def complete_home(home: Home) -> None:
    """Each table has a readable row, and a healthy chat waits."""
    await fill(home.journal(), home.eraser())
    body = msgspec.json.encode(plan(home))

    def complete(connection: sa.Connection) -> None:
        for table in schema.metadata().sorted_tables:
            query = sa.select(sa.func.count()).select_from(table)
            if not connection.scalar(query):
                values = {column.name: _value(column, body) for column in table.columns}
                connection.execute(sa.insert(table), values)

    await home.do(complete)
    await admit(home.journal(), said("hello", key="healthy"), session_key=HEALTHY)


def _opened(path: Path) -> SqliteDatabase:
    database = SqliteDatabase(path)
    database.run_now(migrate.prepare)
    return database


def _value(column: sa.Column[Any], plan_body: bytes) -> object:
    at = (column.table.name, column.name)
    words = column.info.get("words")
    if words is not None:
        return min(words)
    if column.nullable:
        return None
    kind = column.type.python_type
    if kind is bytes:
        return plan_body if at == ("jobs", "body") else BODIES.get(column.table.name, b"\0" * 32)
    examples: dict[type, object] = {str: f"{column.name}", int: 1, float: 1.0, bool: True}
    return examples[kind]


async def planted(template: bytes, folder: Path, table: str, column: str, sql: str) -> list[str]:
    """What failed with that value in that column of each row of the table but the healthy one."""
    path = folder / "state.db"
    if not await asyncio.to_thread(_plant, path, template, table, column, sql):
        return []
    return await failures(Parts(_opened(path)), f"{table}.{column} = {sql}")


async def failures(parts: Parts, case: str) -> list[str]:
    """The passes that fail, and whether the healthy chat is left out."""
    failed = []
    try:
        for name, work in passes(parts):
            try:
                await work
            except (RowUnreadable, ValueError, TypeError, LookupError, StoreError) as error:
                failed.append(f"{case}: {name}: {error!r}")
        ready = [lane.session_key for lane in await parts.journal.ready()]
        if HEALTHY not in ready or await parts.journal.claim(HEALTHY, "healthy", "UTC") is None:
            failed.append(f"{case}: the healthy chat is not served")
    finally:
        await parts.store.close()
    return failed


def _plant(path: Path, template: bytes, table: str, column: str, sql: str) -> bool:
    """False: the table itself does not take the value."""
    path.write_bytes(template)
    where = f"WHERE session_key != '{HEALTHY}'" if _of_sessions(table) else ""
    if table == "sessions":
        where = f"WHERE key != '{HEALTHY}'"
    first = f"WHERE ({_key(table)}) IN (SELECT {_key(table)} FROM {table} {where} LIMIT 1)"
    with closing(sqlite3.connect(path)) as database:
        try:
            database.execute(f'UPDATE {table} SET "{column}" = {sql} {first}')
        except (sqlite3.IntegrityError, sqlite3.OperationalError):
            return False
        database.commit()
    return True


def _of_sessions(table: str) -> bool:
    return "session_key" in schema.metadata().tables[table].c


def _key(table: str) -> str:
    return ", ".join(f'"{column.name}"' for column in schema.metadata().tables[table].primary_key)


def _some() -> Iterator[tuple[str, str, str]]:
    """Every fifth column, with one value after the other; `make prove` has all."""
    values = itertools.cycle(VALUES.values())
    for table, column in COLUMNS[::5]:
        yield table, column, next(values)


@pytest.mark.process
async def test_no_pass_fails_on_some_value_in_any_column(template: bytes, tmp_path: Path) -> None:
    failed = []
    for table, column, sql in _some():
        failed += await planted(template, tmp_path, table, column, sql)
    assert failed == []


@pytest.mark.slow
@pytest.mark.parametrize("table", sorted({table for table, _ in COLUMNS}))
async def test_no_pass_fails_on_any_value_in_any_column(
    template: bytes, tmp_path: Path, table: str
) -> None:
    failed = []
    for column in [name for of, name in COLUMNS if of == table]:
        for sql in VALUES.values():
            failed += await planted(template, tmp_path, table, column, sql)
    assert failed == []
