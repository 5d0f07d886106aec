"""A store as it is after years: filled in one go, with rows as the verbs write them.

Rows of every kind are written in bulk. The chain of each session is computed as the store does it,
so that everything that can be read of a real store can be read of this one.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import sqlalchemy as sa

from benchmarks import filled_rows as rows
from benchmarks.filled_rows import CHANNEL, DAY, PROFILE, TEXT, Row, Size, Timeline, key_of
from nanobot.messages import Address
from nanobot.plugins.common.store import access_tables, job_tables, rule_tables, usage_tables
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.memory import tables as memory_tables
from nanobot.plugins.quiet import tables as quiet_tables
from nanobot.providers.base import Usage
from nanobot.session import entries as log
from nanobot.session.chain import GENESIS, ChainLink, link_hash, payload_digest
from nanobot.session.runs import PromptSnapshot
from nanobot.store.database import schema
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.opening import contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock

PROMPT = "0" * 64
_ROWS_AT_ONCE = 5_000


@dataclass
class _Chain:
    """The log of a session as it grows."""

    key: str
    seq: int = 0
    head: bytes = GENESIS

    def row(self, run_id: str, at: float, body: log.Body) -> Row:
        """The row of one more entry."""
        self.seq += 1
        payload, salt = log.encode(body), hashlib.md5(f"{self.key}{self.seq}".encode()).digest()
        sealed = payload_digest(salt, payload)
        kind = log.kind_of(body)
        link = ChainLink(
            session_key=self.key, seq=self.seq, run_id=run_id, kind=kind, at=at, digest=sealed
        )
        self.head = link_hash(self.head, link)
        return {
            "session_key": self.key,
            "seq": self.seq,
            "run_id": run_id,
            "kind": kind,
            "at": at,
            "salt": salt,
            "payload": payload,
            "digest": sealed,
            "hash": self.head,
        }


class Filling:
    """Rows for every table, the oldest first, up to `now`."""

    def __init__(self, years: Timeline) -> None:
        self._years = years
        self._size = years.size
        self._chains: dict[int, _Chain] = {}
        self._last: dict[int, float] = {}
        self._first_seq: list[int] = []

    def write(self, database: SqliteDatabase) -> None:
        """Fill an empty store; only before its first transaction."""
        for table, those in self._tables():
            database.run_now(partial(_insert, table=table, those=those))

    def _tables(self) -> Iterator[tuple[sa.Table, Iterator[Row]]]:
        size, each = self._size, self._each
        yield schema.prompts, iter([_prompt()])
        yield schema.channels, iter([{"name": CHANNEL, "cursor": str(size.messages)}])
        yield schema.entries, self._entries()
        yield schema.sessions, self._sessions()
        yield schema.inbound, each(rows.inbound, size.messages)
        yield schema.runs, self._runs()
        yield schema.outbound, each(rows.outbound, size.messages)
        yield schema.outbound_parts, map(rows.part, range(size.messages))
        yield usage_tables.model_call_costs, each(rows.cost, size.messages)
        yield usage_tables.usage_totals, self._totals()
        yield schema.approvals, each(rows.approval, size.messages // 10)
        yield rule_tables.approval_rules, each(rows.rule, size.chats // 10)
        yield quiet_tables.notifications, each(rows.notification, size.chats)
        yield access_tables.pairings, each(rows.pairing, size.chats // 10)
        yield job_tables.jobs, each(rows.job, size.jobs)
        yield job_tables.occurrences, each(rows.occurrence, 5 * size.jobs)
        yield memory_tables.memories, each(rows.memory, size.memories)

    def _each(self, row: Callable[[Timeline, int], Row], count: int) -> Iterator[Row]:
        return (row(self._years, number) for number in range(count))

    def _runs(self) -> Iterator[Row]:
        for number, first_seq in enumerate(self._first_seq):
            yield rows.run(self._years, number, first_seq)

    def _entries(self) -> Iterator[Row]:
        for number in range(self._size.messages):
            chat, at, run_id = self._years.chat(number), self._years.at(number), rows.run_id(number)
            chain = self._chains.setdefault(chat, _Chain(key_of(chat)))
            self._first_seq.append(chain.seq + 1)
            user = log.UserEntry(
                text=f"{TEXT} {number}",
                address=Address(CHANNEL, str(chat)),
                sender_id=str(chat),
                sender_name=f"Person {chat}",
                role=rows.role_of(chat),
                sent_at=at,
                inbound_id=number + 1,
                message_id=str(number),
            )
            yield chain.row(run_id, at, user)
            if chain.seq == 1:
                yield chain.row(run_id, at, log.PromptEntry(digest=PROMPT, prompt_variant="full"))
            yield chain.row(run_id, at, _model_call(max(chain.seq - 150, 1)))
            reply = log.ReplyEntry(call=1, text=f"{TEXT} {number}", usage=Usage(900, 40), ms=900)
            yield chain.row(run_id, at, reply)
            self._last[chat] = at

    def _sessions(self) -> Iterator[Row]:
        for chat, chain in self._chains.items():
            yield {
                "key": chain.key,
                "title": TEXT[:60],
                "created_at": self._years.begin,
                "updated_at": self._last[chat],
                "last_read_at": self._last[chat],
                "head_seq": chain.seq,
                "head_hash": chain.head,
                "window_from": max(chain.seq - 150, 1),
                "remembered_seq": chain.seq,
                "prompt": PROMPT,
                "prompt_variant": "full",
                "token": 7,
            }

    def _totals(self) -> Iterator[Row]:
        for back in range(365):
            day = rows.day(self._years.now - back * DAY)
            for level, name in [("all", ""), *(("person", f"{CHANNEL}:{n}") for n in range(50))]:
                yield {
                    "day": day,
                    "level": level,
                    "name": name,
                    "requests": 10,
                    "tokens_in": 9_000,
                    "tokens_out": 400,
                    "cost": 0.01,
                    "unpriced": 0,
                }


def filled(database: SqliteDatabase, size: Size) -> None:
    """Fill an empty store, as if its last message had come just now."""
    Filling(Timeline(size, time.time())).write(database)


def _insert(connection: sa.Connection, table: sa.Table, those: Iterator[Row]) -> None:
    batch: list[Row] = []
    for row in those:
        batch.append(row)
        if len(batch) == _ROWS_AT_ONCE:
            connection.execute(sa.insert(table), batch)
            batch = []
    if batch:
        connection.execute(sa.insert(table), batch)


def _prompt() -> Row:
    snapshot = PromptSnapshot(system="A system prompt of some length. " * 100, tools=())
    return {"digest": PROMPT, "body": msgspec.json.encode(snapshot)}


def _model_call(window_from: int) -> log.ModelCallEntry:
    return log.ModelCallEntry(
        call=1,
        prompt=PROMPT,
        window_from=window_from,
        profile=PROFILE,
        estimate=1_000,
        temperature=0.7,
        max_tokens=4_096,
    )


async def fill_home(home: Path, size: Size) -> None:
    """Make the store of a home one that is years old."""
    context = contexts(SystemClock(), RandomIds(), store_hooks())
    store = open_store(home, "", context, command="benchmarks", crash="")
    try:
        await asyncio.to_thread(filled, store.guard.inner, size)  # type: ignore[arg-type]
    finally:
        await store.close()
