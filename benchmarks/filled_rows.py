"""The rows of a store of years, as the verbs write them: one of each kind by its number."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

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
from nanobot.plugins.common.jobs.plans import Plan
from nanobot.providers.base import ModelProfile
from nanobot.session.approvals import Approval, digest
from nanobot.session.lasting import Provenance
from nanobot.session.runs import RunUsage

Row: TypeAlias = dict[str, Any]

TEXT = "A message of ordinary length, as people write them when they ask for something."
CHANNEL = "telegram"
PROFILE = ModelProfile(name="scripted", provider="bench")
DAY = 86_400.0
_WORDS = ("garden", "kitchen", "car", "dog", "wifi", "dentist", "school", "bank", "roof", "bike")
_RUN_USAGE = msgspec.json.encode(
    RunUsage(model_calls=1, prompt_tokens=900, completion_tokens=40, active_ms=900)
)


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


@dataclass(frozen=True)
class Timeline:
    """Whose each message is, and when it came: spread over the year that ends `now`."""

    size: Size
    now: float

    @property
    def begin(self) -> float:
        return self.now - 365 * DAY

    def chat(self, number: int) -> int:
        """In turn, but every tenth message is the busiest chat's."""
        if number % 10 == 9:
            return self.size.busiest
        return number * max(self.size.chats - 1, 1) // self.size.messages

    def at(self, number: int) -> float:
        return self.begin + number * (self.now - self.begin) / (self.size.messages + 1)


def key_of(chat: int) -> str:
    """The session of a chat."""
    return f"{CHANNEL}:{chat}"


def run_id(number: int) -> str:
    return f"run{number:026}"


def role_of(chat: int) -> Role:
    return Role.OWNER if chat == 0 else Role.MEMBER


def day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def inbound(years: Timeline, number: int) -> Row:
    chat, at = years.chat(number), years.at(number)
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
        "role": role_of(chat),
        "origin": Origin.USER,
        "state": "settled",
        "run_id": run_id(number),
        "at": at,
        "body": msgspec.json.encode(message),
    }


def run(years: Timeline, number: int, first_seq: int) -> Row:
    chat, at = years.chat(number), years.at(number)
    return {
        "id": run_id(number),
        "session_key": key_of(chat),
        "kind": "chat",
        "state": "completed",
        "origin": Origin.USER,
        "channel": CHANNEL,
        "chat_id": str(chat),
        "sender_id": str(chat),
        "role": role_of(chat),
        "reply_to": str(number),
        "first_seq": first_seq,
        "attempts": 1,
        "progress": 0,
        "usage": _RUN_USAGE,
        "created_at": at,
        "ended_at": at + 1.0,
    }


def outbound(years: Timeline, number: int) -> Row:
    chat, at = years.chat(number), years.at(number)
    message = OutboundMessage(
        address=Address(CHANNEL, str(chat)),
        text=f"{TEXT} {number}",
        key=f"{run_id(number)}:0",
        kind=OutboundKind.REPLY,
    )
    return {
        "id": number + 1,
        "key": message.key,
        "session_key": key_of(chat),
        "run_id": run_id(number),
        "channel": CHANNEL,
        "chat_id": str(chat),
        "body": msgspec.json.encode(message),
        "state": "dead" if number % 1_000 == 0 else "sent",
        "attempts": 1,
        "created_at": at,
        "settled_at": at + 1.0,
    }


def cost(years: Timeline, number: int) -> Row:
    chat, at = years.chat(number), years.at(number)
    return {
        "run_id": run_id(number),
        "call": 1,
        "root": run_id(number),
        "session_key": key_of(chat),
        "day": day(at),
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


def approval(years: Timeline, number: int) -> Row:
    chat = number % years.size.chats
    request = Approval(
        state="approved",
        session_key=key_of(chat),
        run_id=run_id(number),
        model_call=1,
        index=0,
        tool="exec",
        arguments='{"command": "ls"}',
        digest=digest("exec", '{"command": "ls"}'),
        why="it runs a command",
        address=Address(CHANNEL, str(chat)),
        sender_id=str(chat),
        role=role_of(chat),
        asked_at=years.at(number),
        expires_at=years.at(number) + 3_600,
    )
    body = msgspec.json.encode(request)
    return {
        "session_key": request.session_key,
        "run_id": request.run_id,
        "state": request.state,
        "body": body,
    }


def rule(years: Timeline, number: int) -> Row:
    return {
        "session_key": key_of(number),
        "tool": "exec",
        "subject": '{"command": "ls"}',
        "tainted": False,
        "label": "om2",
        "by": "1",
        "created_at": years.now,
    }


def notification(years: Timeline, number: int) -> Row:
    return {
        "key": f"post-{number}",
        "channel": CHANNEL,
        "chat_id": str(number),
        "person": f"{CHANNEL}:{number}",
        "at": years.now - DAY + number,
    }


def pairing(years: Timeline, number: int) -> Row:
    return {
        "channel": CHANNEL,
        "sender_id": f"paired-{number}",
        "name": f"Person {number}",
        "chat_id": str(number),
        "state": "approved",
        "role": Role.MEMBER,
        "code": f"CODE{number}",
        "asked_at": years.now,
        "expires_at": years.now,
    }


def job(years: Timeline, number: int) -> Row:
    chat = number % years.size.chats
    plan = Plan(
        name=f"job {number}",
        schedule=f"{number % 60} {number // 60 % 24} * * *",
        zone="Europe/Berlin",
        anchor=years.begin,
        text="Stretch!",
        address=Address(CHANNEL, str(chat)),
        session_key=f"cron:{number + 1}",
        sender_id=str(chat),
        role=role_of(chat),
        by=f"{CHANNEL}:{chat}",
        options=RunOptions(history=()),
    )
    due = years.now + 3_600 + number
    return {
        "id": number + 1,
        "name": plan.name,
        "state": "active",
        "owner": plan.by,
        "channel": CHANNEL,
        "chat_id": str(chat),
        "next_at": due,
        "next_due": due,
        "created_at": years.begin,
        "changed_at": years.begin,
        "body": msgspec.json.encode(plan),
    }


def occurrence(years: Timeline, number: int) -> Row:
    job, day = number % years.size.jobs, number // years.size.jobs
    at = years.now - (day + 1) * DAY
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


def memory(years: Timeline, number: int) -> Row:
    text = f"Note {number}: the {_WORDS[number % 10]} of {_WORDS[number // 10 % 10]}"
    return {
        "scope": "owner" if number % 2 else f"chats/{CHANNEL}/{number % 100}",
        "digest": hashlib.sha256(text.encode()).digest(),
        "text": text,
        "terms": text.lower(),
        "state": "active",
        "kind": "note",
        "provenance": msgspec.json.encode(Provenance()),
        "created_at": years.begin + number,
        "updated_at": years.begin + number,
    }


def part(number: int) -> Row:
    return {
        "outbound_id": number + 1,
        "idx": 0,
        "text": f"{TEXT} {number}",
        "payload": b"{}",
        "key": f"{run_id(number)}:0/0",
        "state": "sent",
        "receipt": str(number),
    }
