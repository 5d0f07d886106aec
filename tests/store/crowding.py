"""A store with many rows in every table, and what one transaction takes of its thread."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address, Role
from nanobot.session.chain import GENESIS, ChainLink, link_hash, payload_digest
from nanobot.session.entries import UserEntry, encode
from nanobot.store.database import schema
from nanobot.store.database.database import Work
from nanobot.store.database.sqlite import SqliteDatabase
from tests.store.filling import complete, fill
from tests.store.home import Home
from tests.store.making import approval, asked, begun, reply

T = TypeVar("T")

LONG = "telegram:long"
"""The session whose log has most of the entries."""
_PART = 5_000
_READABLE: dict[str, dict[str, object]] = {
    "access_tokens": {"kind": "token", "role": "owner"},
    "pairings": {"role": "member", "state": "approved"},
    "outbound_parts": {"file": None, "payload": b"{}"},
    "memories": {"scope": "scope", "state": "active", "kind": "note", "provenance": b"{}"},
    "approval_rules": {"role": "owner"},
    "approvals": {"state": "approved"},
}
"""Columns whose values are read as more than text or numbers."""
_VARIED = {"entries", "meta", "sessions", "channel_leases", "log_words"}
_AT_MOST = {"push_subscriptions": 200}
"""Tables that never have more rows: another one is refused."""


_YARDSTICK = """WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 30000)
SELECT 'word' || x FROM n WHERE x % 3 = 0"""
_YARD_SECONDS = 0.0072
_LONG_SECONDS = 0.010


class Cost(msgspec.Struct):
    """What a transaction took: processor time of the thread, as on a quiet machine; instructions of
    SQLite; rows read.
    """

    seconds: float = 0.0
    steps: int = 0
    rows: int = 0


class MeteredDatabase(SqliteDatabase):
    """A real database that notes what each unit of work takes."""

    def __init__(self) -> None:
        super().__init__(None)
        self.costs: list[Cost] = []

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """Run it on the writer thread, and measure it there."""

        def measured(connection: sa.Connection) -> T:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            cost = Cost()
            self.costs.append(cost)

            def step() -> int:
                cost.steps += 100
                return 0

            def row(_: sqlite3.Cursor, values: tuple[Any, ...]) -> tuple[Any, ...]:
                cost.rows += 1
                return values

            driver.set_progress_handler(step, 100)
            driver.row_factory = row
            begun_at = time.thread_time()
            try:
                return work(connection)
            finally:
                cost.seconds = time.thread_time() - begun_at
                driver.set_progress_handler(None, 0)
                driver.row_factory = None
                if cost.seconds > _LONG_SECONDS:
                    cost.seconds /= _slowness()

        return await super().transact(measured, verb)


def _slowness() -> float:
    """How much longer this thread takes for the same work than on a quiet machine: others that
    compute slow it down to half of its speed, and its processor time counts that.
    """
    begun_at = time.thread_time()
    with closing(sqlite3.connect(":memory:")) as connection:
        for _ in connection.execute(_YARDSTICK):
            pass
    return max((time.thread_time() - begun_at) / _YARD_SECONDS, 1.0)


async def crowd(home: Home, entries: int, rows: int) -> None:
    """Fill a home: so many entries in one log, and copies of a row in each other table."""
    journal = home.journal()
    await fill(journal, home.eraser())
    claimed = await begun(journal, "asking", "telegram:3")
    await asked(journal, claimed)
    await journal.record_reply(claimed.lane, claimed.run, reply())
    await journal.park(
        claimed.lane, claimed.run, approval(run_id="asking", session_key="telegram:3")
    )
    await home.do(complete)
    await home.do(lambda connection: _long_log(connection, entries))
    for table in schema.metadata().sorted_tables:
        if table.name not in _VARIED and list(table.primary_key.columns):
            count = min(rows, _AT_MOST.get(table.name, rows))
            await home.do(lambda c, table=table, count=count: _copy(c, table, count))  # type: ignore[misc]


def _long_log(connection: sa.Connection, count: int) -> None:
    head, at = GENESIS, 1_700_000_000.0
    connection.execute(
        sa.insert(schema.sessions),
        {"key": LONG, "created_at": at, "updated_at": at + count, "head_seq": 0, "head_hash": b""},
    )
    made = []
    for seq in range(1, count + 1):
        said = UserEntry(
            text=f"word{seq} of a long conversation, said by somebody who talks a lot " * 3,
            address=Address("telegram", "long"),
            sender_id="1",
            role=Role.OWNER,
            sent_at=at,
            inbound_id=seq,
        )
        payload, salt = encode(said), b"salt"
        link = ChainLink(
            session_key=LONG,
            seq=seq,
            run_id=f"long-{seq // 1_000}",
            kind="user",
            at=at + seq,
            digest=payload_digest(salt, payload),
        )
        head = link_hash(head, link)
        made.append(
            {
                "session_key": LONG,
                "seq": seq,
                "run_id": link.run_id,
                "kind": "user",
                "at": link.at,
                "salt": salt,
                "payload": payload,
                "digest": link.digest,
                "hash": head,
            }
        )
    for first in range(0, count, _PART):
        connection.execute(sa.insert(schema.entries), made[first : first + _PART])
    connection.execute(
        sa.update(schema.sessions)
        .where(schema.sessions.c.key == LONG)
        .values(head_seq=count, head_hash=head, window_from=count - 200)
    )


def _copy(connection: sa.Connection, table: sa.Table, count: int) -> None:
    """The newest row of a table, many times: only what must differ does."""
    columns = list(table.primary_key.columns)
    template = connection.execute(table.select().order_by(*(c.desc() for c in columns))).first()
    assert template is not None, table.name
    row = dict(template._mapping) | _READABLE.get(table.name, {})
    connection.execute(table.delete().where(columns[0] == template._mapping[columns[0].name]))
    different = {column.name for column in columns}
    for constraint in table.constraints:
        if isinstance(constraint, sa.UniqueConstraint):
            different |= {column.name for column in constraint.columns}
    different |= {c.name for c in table.columns if c.unique}
    copies = [
        row | {name: _another(row[name], number) for name in different}
        for number in range(1, count + 1)
    ]
    for first in range(0, count, _PART):
        connection.execute(sa.insert(table), copies[first : first + _PART])


def _another(value: object, number: int) -> object:
    if isinstance(value, int | float):
        return value + number
    if isinstance(value, bytes):
        return value + b"%d" % number
    return f"{value}~{number}"
