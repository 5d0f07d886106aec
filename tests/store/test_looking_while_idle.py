"""What a gateway looks at while nobody says anything: no statement of it grows with the store."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from benchmarks.filled import filled
from benchmarks.filled_rows import DAY, Size
from nanobot.app.gateway import Gateway
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.plugins.memory.files import notes
from nanobot.providers.one_provider import OneProvider
from nanobot.store.database import migrate
from nanobot.store.database.database import Work
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.system import SystemClock
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider

T = TypeVar("T")

SMALL, LARGE = 1_000, 10_000
FEW = 2_500
"""Steps of a page of a table that is small in one store only. A look at a thousand rows takes more.
"""
WAITS = (*[15.0] * 8, *[60.0] * 4, *[300.0] * 3, *[3_600.0] * 2, *[DAY / 2] * 3)
"""How long nothing happens, again and again: two days, so that what is done each day is seen."""
SETTINGS = """
[web]
port = 0
[retention]
entries_days = 3650
"""
_LITERAL = re.compile(r"x?'(?:[^']|'')*'|\b\d[\w.+]*")
_LIST = re.compile(r"\((?:\?|\(\?(?:, \?)*\))(?:, (?:\?|\(\?(?:, \?)*\)))*\)")
_COUNTED = 20


class Statements(SqliteDatabase):
    """A store that counts the instructions that each statement took at most."""

    def __init__(self) -> None:
        super().__init__(None)
        self.most: dict[str, int] = {}
        self.executed = 0
        self._sql, self._steps = "", 0

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """Run it, and count."""

        def counted(connection: sa.Connection) -> T:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.set_trace_callback(self._begin)
            driver.set_progress_handler(self._step, _COUNTED)
            try:
                return work(connection)
            finally:
                self._begin("")
                driver.set_trace_callback(None)
                driver.set_progress_handler(None, 0)

        return await super().transact(counted, verb)

    def _begin(self, sql: str) -> None:
        if sql.startswith("--"):  # of a trigger
            return
        if self._sql:
            self.executed += 1
            which = _LIST.sub("(?)", _LITERAL.sub("?", " ".join(self._sql.split())))
            self.most[which] = max(self.most.get(which, 0), self._steps)
        self._sql, self._steps = sql, 0

    def _step(self) -> int:
        self._steps += _COUNTED
        return 0


async def _two_days(home: Path, size: Size) -> dict[str, int]:
    """The statements of a gateway over such a store, each with the most instructions."""
    database = Statements()
    try:
        database.run_now(migrate.prepare)
        filled(database, size)
        await asyncio.to_thread(home.mkdir)
        database.run_now(_few_jobs_are_due)
        database.run_now(partial(_memories_are_in_files, workspace=home / "workspace"))
        (home / "config.toml").write_text(SETTINGS)
        environ = {"NANOBOT_HOME": str(home)}
        clock = ManualClock(SystemClock().now(), instant=False)
        program = Program(provider=OneProvider(ScriptedProvider(*["Done."] * 20)), store=database)
        gateway = Gateway(
            load(environ), environ, clock=clock, channels=False, page=True, program=program
        )
        ready = asyncio.Event()
        async with gateway.serving("a test", lambda _line: ready.set()):
            await ready.wait()
            for seconds in WAITS:
                await _at_rest(database)
                clock.advance(seconds)
            await _at_rest(database)
        return database.most
    finally:
        await database.close()


def _few_jobs_are_due(connection: sa.Connection) -> None:
    later = "UPDATE jobs SET next_at = next_at + 432000, next_due = next_due + 432000"
    connection.exec_driver_sql(later)
    now = SystemClock().now()
    soon = "UPDATE jobs SET next_at = ?, next_due = ? WHERE id <= 3"
    connection.exec_driver_sql(soon, (now + 20, now + 20))


def _memories_are_in_files(connection: sa.Connection, workspace: Path) -> None:
    scopes: dict[str, list[str]] = {}
    for scope, text in connection.exec_driver_sql("SELECT scope, text FROM memories ORDER BY id"):
        scopes.setdefault(scope, []).append(f"- {text}\n")
    for scope, lines in scopes.items():
        name = notes(scope, "2026-01-01")
        file = workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("# 2026-01-01\n\n" + "".join(lines))
        connection.exec_driver_sql("UPDATE memories SET file = ? WHERE scope = ?", (name, scope))


async def _at_rest(database: Statements) -> None:
    """Wait until nothing asks the store any more."""
    seen, quiet = -1, 0
    while quiet < 5:
        await asyncio.sleep(0.01)
        quiet = quiet + 1 if seen == database.executed else 0
        seen = database.executed


@pytest.mark.process
async def test_no_statement_of_an_idle_gateway_reads_more_where_there_is_more(
    tmp_path: Path,
) -> None:
    small, large = [
        await _two_days(tmp_path / str(many), Size(many, many, many, many))
        for many in (SMALL, LARGE)
    ]
    assert len(large) > 40, "the works of plugins were not seen"
    grown: dict[str, Any] = {
        sql: (small.get(sql), steps)
        for sql, steps in large.items()
        if steps > max(2 * small.get(sql, 0), FEW)
    }
    assert grown == {}
