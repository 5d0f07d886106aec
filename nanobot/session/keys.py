"""Keys that one module builds and another parses or rebuilds. Never change their format: databases
contain them, and steps repeated after a crash are recognized by them."""

from __future__ import annotations

from typing import NamedTuple

from nanobot.messages import Address


class Keys(NamedTuple):
    """Keys of the form PREFIX:ID. A suffix distinguishes several keys of one id."""

    word: str

    def of(self, identity: object, *added: object) -> str:
        return ":".join(map(str, (self.word, identity, *added)))

    def id_of(self, key: str) -> str:
        return key.removeprefix(f"{self.word}:").partition(":")[0]

    def is_of(self, key: str) -> bool:
        """Whether a key is of this kind."""
        return key.startswith(f"{self.word}:")


REPORTS = Keys("run")
"""One per background run: the message that reports its end."""
APPROVALS = Keys("approval")
"""One per approval: the message that follows a late answer. With a chat: the question there."""
TASKS = Keys("task")
"""One per background run: its session."""
FORKS = Keys("fork")
"""One per fork of a run: its session."""
NOTICES = Keys("notice")
"""One per message: the gateway's answer to it."""
EDITED, FULL = Keys("edited"), Keys("full")
"""Notices: a message was edited too late, a lane is full."""


def is_fork(session_key: str) -> bool:
    """Whether a session is a fork. Nothing that happens there may have an effect elsewhere."""
    return FORKS.is_of(session_key)


def person(channel: str, sender_id: str) -> str:
    """Identify a person in budgets, limits, approvers and jobs."""
    return f"{channel}:{sender_id}"


def chat(address: Address) -> str:
    """Identify a chat, with all its threads, in budgets and limits."""
    return f"{address.channel}:{address.chat_id}"


def message(address: Address, dedupe_key: str) -> str:
    """Identify a message. The chat is included because platforms number each chat separately."""
    return f"{chat(address)}:{dedupe_key}"


def answer(run_id: str, approval: int | None = None) -> str:
    """Identify a run's answer and the preview that becomes it. With an approval: the part of the
    answer that was shown before the run waited for that approval."""
    return f"{run_id}:0" if approval is None else f"{run_id}:0:{approval}"
