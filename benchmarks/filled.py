"""A store as it is after years: filled in one go, with rows as the verbs write them.

Rows of every kind are written in bulk. The chain of each session is computed as the store does it,
so that everything that can be read of a real store can be read of this one.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.memory.port import Provenance
from nanobot.messages import (
    Address,
    InboundMessage,
    Origin,
    OutboundKind,
    OutboundMessage,
    Role,
    RunOptions,
    Sender,
)
from nanobot.providers.base import ModelProfile, Usage
from nanobot.session import entries as log
from nanobot.session.approvals import Approval, digest
from nanobot.session.runs import PromptSnapshot, RunUsage
from nanobot.store.database import schema
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.triggers.cron.jobs import Plan

TEXT = "A message of ordinary length, as people write them when they ask for something."
CHANNEL = "telegram"
PROFILE = ModelProfile(name="scripted", provider="bench")
PROMPT = "0" * 64
DAY = 86_400.0
_RUN_USAGE = msgspec.json.encode(
    RunUsage(model_calls=1, prompt_tokens=900, completion_tokens=40, active_ms=900)
)
_ROWS_AT_ONCE = 5_000


@dataclass(frozen=True)
class Size:
    """How much there is. One chat in ten thousand holds a tenth of all messages; it was last used
    now, and chat 0 was last used before all others."""

    messages: int = 100_000
    chats: int = 10_000
    jobs: int = 10_000
    memories: int = 10_000

    @property
    def busiest(self) -> int:
        """The chat with a tenth of all messages."""
        return self.chats - 1


@dataclass
class _Chain:
    """The log of a session as it grows."""

    key: str
    seq: int = 0
    head: bytes = log.GENESIS

    def row(self, run_id: str, at: float, body: log.Body) -> dict[str, Any]:
        """The row of one more entry."""
        self.seq += 1
        payload, salt = log.encode(body), hashlib.md5(f"{self.key}{self.seq}".encode()).digest()
        sealed = log.payload_digest(salt, payload)
        kind = log.kind_of(body)
        link = log.ChainLink(
            session_key=self.key, seq=self.seq, run_id=run_id, kind=kind, at=at, digest=sealed
        )
        self.head = log.link_hash(self.head, link)
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

    def __init__(self, size: Size, now: float) -> None:
        self._size = size
        self._now = now
        self._begin = now - 365 * DAY
        self._chains: dict[int, _Chain] = {}
        self._last: dict[int, float] = {}
        self._first_seq: list[int] = []

    def write(self, database: SqliteDatabase) -> None:
        """Fill an empty store; only before its first transaction."""
        for table, rows in self._tables():
            database.run_now(partial(_insert, table=table, rows=rows))

    def _tables(self) -> Iterator[tuple[sa.Table, Iterator[dict[str, Any]]]]:
        yield schema.prompts, iter([_prompt()])
        yield schema.channels, iter([{"name": CHANNEL, "cursor": str(self._size.messages)}])
        yield schema.entries, self._entries()
        yield schema.sessions, self._sessions()
        yield schema.inbound, (self._inbound(n) for n in range(self._size.messages))
        yield schema.runs, (self._run(n) for n in range(self._size.messages))
        yield schema.outbound, (self._outbound(n) for n in range(self._size.messages))
        yield schema.outbound_parts, (_part(n) for n in range(self._size.messages))
        yield schema.model_call_costs, (self._cost(n) for n in range(self._size.messages))
        yield schema.usage_totals, self._totals()
        yield schema.approvals, (self._approval(n) for n in range(self._size.messages // 10))
        yield schema.approval_rules, (self._rule(n) for n in range(self._size.chats // 10))
        yield schema.notifications, (self._notification(n) for n in range(self._size.chats))
        yield schema.pairings, (self._pairing(n) for n in range(self._size.chats // 10))
        yield schema.jobs, (self._job(n) for n in range(self._size.jobs))
        yield schema.occurrences, (self._occurrence(n) for n in range(5 * self._size.jobs))
        yield schema.memories, (self._memory(n) for n in range(self._size.memories))

    def chat(self, number: int) -> int:
        """Whose message it is: in turn, but every tenth is the busiest chat's."""
        if number % 10 == 9:
            return self._size.busiest
        return number * max(self._size.chats - 1, 1) // self._size.messages

    def _at(self, number: int) -> float:
        return self._begin + number * (self._now - self._begin) / (self._size.messages + 1)

    def _entries(self) -> Iterator[dict[str, Any]]:
        for number in range(self._size.messages):
            chat, at, run_id = self.chat(number), self._at(number), _run_id(number)
            chain = self._chains.setdefault(chat, _Chain(key_of(chat)))
            self._first_seq.append(chain.seq + 1)
            user = log.UserEntry(
                text=f"{TEXT} {number}",
                address=Address(CHANNEL, str(chat)),
                sender_id=str(chat),
                sender_name=f"Person {chat}",
                role=_role(chat),
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

    def _sessions(self) -> Iterator[dict[str, Any]]:
        for chat, chain in self._chains.items():
            yield {
                "key": chain.key,
                "title": TEXT[:60],
                "created_at": self._begin,
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

    def _inbound(self, number: int) -> dict[str, Any]:
        chat, at = self.chat(number), self._at(number)
        message = InboundMessage(
            address=Address(CHANNEL, str(chat)),
            message_id=str(number),
            dedupe_key=str(number),
            sender=Sender(str(chat), f"Person {chat}"),
            text=f"{TEXT} {number}",
            sent_at=at,
            group=chat % 3 == 1,
        )
        return {
            "id": number + 1,
            "session_key": key_of(chat),
            "channel": CHANNEL,
            "chat_id": str(chat),
            "dedupe_key": str(number),
            "sender_id": str(chat),
            "role": _role(chat),
            "origin": Origin.USER,
            "state": "settled",
            "run_id": _run_id(number),
            "at": at,
            "body": msgspec.json.encode(message),
        }

    def _run(self, number: int) -> dict[str, Any]:
        chat, at = self.chat(number), self._at(number)
        return {
            "id": _run_id(number),
            "session_key": key_of(chat),
            "kind": "chat",
            "state": "completed",
            "origin": Origin.USER,
            "channel": CHANNEL,
            "chat_id": str(chat),
            "sender_id": str(chat),
            "role": _role(chat),
            "reply_to": str(number),
            "first_seq": self._first_seq[number],
            "attempts": 1,
            "progress": 0,
            "usage": _RUN_USAGE,
            "created_at": at,
            "ended_at": at + 1.0,
        }

    def _outbound(self, number: int) -> dict[str, Any]:
        chat, at = self.chat(number), self._at(number)
        message = OutboundMessage(
            address=Address(CHANNEL, str(chat)),
            text=f"{TEXT} {number}",
            key=f"{_run_id(number)}:0",
            kind=OutboundKind.REPLY,
        )
        return {
            "id": number + 1,
            "key": message.key,
            "session_key": key_of(chat),
            "run_id": _run_id(number),
            "channel": CHANNEL,
            "chat_id": str(chat),
            "body": msgspec.json.encode(message),
            "state": "dead" if number % 1_000 == 0 else "sent",
            "attempts": 1,
            "created_at": at,
            "settled_at": at + 1.0,
        }

    def _cost(self, number: int) -> dict[str, Any]:
        chat, at = self.chat(number), self._at(number)
        return {
            "run_id": _run_id(number),
            "call": 1,
            "root": _run_id(number),
            "session_key": key_of(chat),
            "day": _day(at),
            "at": at,
            "person": f"{CHANNEL}:{chat}",
            "chat": f"{CHANNEL}:{chat}",
            "job": "",
            "model": PROFILE.label,
            "state": "settled",
            "requests": 1,
            "tokens_in": 900,
            "tokens_out": 40,
            "cost": 0.001,
        }

    def _totals(self) -> Iterator[dict[str, Any]]:
        for back in range(365):
            day = _day(self._now - back * DAY)
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

    def _approval(self, number: int) -> dict[str, Any]:
        chat = number % self._size.chats
        asked = Approval(
            state="approved",
            session_key=key_of(chat),
            run_id=_run_id(number),
            model_call=1,
            index=0,
            tool="exec",
            arguments='{"command": "ls"}',
            digest=digest("exec", '{"command": "ls"}'),
            why="it runs a command",
            address=Address(CHANNEL, str(chat)),
            sender_id=str(chat),
            role=_role(chat),
            asked_at=self._at(number),
            expires_at=self._at(number) + 3_600,
        )
        body = msgspec.json.encode(asked)
        return {
            "session_key": asked.session_key,
            "run_id": asked.run_id,
            "state": asked.state,
            "body": body,
        }

    def _rule(self, number: int) -> dict[str, Any]:
        return {
            "session_key": key_of(number),
            "tool": "exec",
            "subject": '{"command": "ls"}',
            "tainted": False,
            "by": "1",
            "created_at": self._now,
        }

    def _notification(self, number: int) -> dict[str, Any]:
        return {
            "key": f"post-{number}",
            "channel": CHANNEL,
            "chat_id": str(number),
            "person": f"{CHANNEL}:{number}",
            "at": self._now - DAY + number,
        }

    def _pairing(self, number: int) -> dict[str, Any]:
        return {
            "channel": CHANNEL,
            "sender_id": f"paired-{number}",
            "name": f"Person {number}",
            "chat_id": str(number),
            "state": "approved",
            "role": Role.MEMBER,
            "code": f"CODE{number}",
            "asked_at": self._now,
            "expires_at": self._now,
        }

    def _job(self, number: int) -> dict[str, Any]:
        chat = number % self._size.chats
        plan = Plan(
            name=f"job {number}",
            schedule=f"{number % 60} {number // 60 % 24} * * *",
            zone="Europe/Berlin",
            anchor=self._begin,
            text="Stretch!",
            address=Address(CHANNEL, str(chat)),
            session_key=f"cron:{number + 1}",
            sender_id=str(chat),
            role=_role(chat),
            by=f"{CHANNEL}:{chat}",
            terms=RunOptions(history=()),
        )
        due = self._now + 3_600 + number
        return {
            "id": number + 1,
            "name": plan.name,
            "state": "active",
            "owner": plan.by,
            "channel": CHANNEL,
            "chat_id": str(chat),
            "next_at": due,
            "next_due": due,
            "created_at": self._begin,
            "changed_at": self._begin,
            "body": msgspec.json.encode(plan),
        }

    def _occurrence(self, number: int) -> dict[str, Any]:
        job, day = number % self._size.jobs, number // self._size.jobs
        at = self._now - (day + 1) * DAY
        return {
            "job_id": job + 1,
            "scheduled_at": at,
            "status": "done",
            "session_key": f"cron:{job + 1}",
            "call_key": f"call-{number}",
            "fired_at": at,
            "ended_at": at + 1.0,
            "body": msgspec.json.encode(""),
        }

    def _memory(self, number: int) -> dict[str, Any]:
        text = f"Note {number}: the {_WORDS[number % 10]} of {_WORDS[number // 10 % 10]}"
        return {
            "scope": "owner" if number % 2 else f"{CHANNEL}:{number % 100}",
            "digest": hashlib.sha256(text.encode()).digest(),
            "text": text,
            "terms": text.lower(),
            "state": "active",
            "kind": "note",
            "provenance": msgspec.json.encode(Provenance()),
            "created_at": self._begin + number,
            "updated_at": self._begin + number,
        }


_WORDS = ("garden", "kitchen", "car", "dog", "wifi", "dentist", "school", "bank", "roof", "bike")


def key_of(chat: int) -> str:
    """The session of a chat."""
    return f"{CHANNEL}:{chat}"


def filled(database: SqliteDatabase, size: Size) -> Filling:
    """Fill an empty store, as if its last message had come just now."""
    filling = Filling(size, time.time())
    filling.write(database)
    return filling


def _insert(connection: sa.Connection, table: sa.Table, rows: Iterator[dict[str, Any]]) -> None:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _ROWS_AT_ONCE:
            connection.execute(sa.insert(table), batch)
            batch = []
    if batch:
        connection.execute(sa.insert(table), batch)


def _run_id(number: int) -> str:
    return f"run{number:026}"


def _role(chat: int) -> Role:
    return Role.OWNER if chat == 0 else Role.MEMBER


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def _prompt() -> dict[str, Any]:
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


def _part(number: int) -> dict[str, Any]:
    return {
        "outbound_id": number + 1,
        "idx": 0,
        "text": f"{TEXT} {number}",
        "payload": b"{}",
        "key": f"{_run_id(number)}:0/0",
        "state": "sent",
        "receipt": str(number),
    }
