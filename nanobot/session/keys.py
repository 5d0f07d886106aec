"""The keys that one place makes and another takes apart or makes again. Their texts never change:
they stand in databases, and what a crash repeats is known by them."""

from __future__ import annotations

from typing import NamedTuple

from nanobot.messages import Address

_DIGITS = 18
"""Of the largest number that any database takes."""


class Keys(NamedTuple):
    """Keys that begin with a word and an id; what is added tells those of one id apart."""

    word: str

    def of(self, identity: object, *added: object) -> str:
        return ":".join(map(str, (self.word, identity, *added)))

    def id_of(self, key: str) -> str:
        return key.removeprefix(f"{self.word}:").partition(":")[0]

    def number_of(self, key: str) -> int | None:
        """The id that is a row's; None for a key of another kind."""
        text = self.id_of(key)
        whose = key.startswith(f"{self.word}:") and text.isascii() and text.isdecimal()
        return int(text) if whose and len(text) <= _DIGITS else None


REPORTS = Keys("run")
"""One for each background run: the message that it ended."""
APPROVALS = Keys("approval")
"""One for each: the message that follows a late answer. With a chat added: the question there."""
JOBS = Keys("cron")
"""One for each job: its session. With a time: its post; with an attempt too: its run's message."""
TASKS = Keys("task")
"""One for each background run: its session."""

PAIRED = Keys("paired")
"""One for each person and code: what somebody who was let in is told."""
HOOKS = Keys("hook")
"""One for each webhook: its job."""
LIFECYCLE = Keys("lifecycle")
"""One for each moment of the gateway's life that has a run: its session."""
NOTICES = Keys("notice")
"""One for each message: what the gateway answers to it."""
EDITED, FULL, PAUSED = Keys("edited"), Keys("full"), Keys("paused")
"""Notices: a message was changed too late, a lane takes no more, jobs were paused."""
GREETINGS = Keys("greeting")
"""One for each person and time that they had spoken last: a greeting."""


ONCE = "once"
"""In the name of a session of the terminal: one message from the shell began it."""


def person(channel: str, sender_id: str) -> str:
    """Who somebody is in budgets, limits, approvers and jobs."""
    return f"{channel}:{sender_id}"


def chat(address: Address) -> str:
    """A chat with all its threads in budgets and limits."""
    return f"{address.channel}:{address.chat_id}"


def message(address: Address, dedupe_key: str) -> str:
    """What no other message has: platforms count the messages of each chat by themselves."""
    return f"{chat(address)}:{dedupe_key}"


def answer(run_id: str, approval: int | None = None) -> str:
    """One for each run: its answer, and the preview that becomes it. With an approval, one for
    each of those: what stood of the answer when the run began to wait for it."""
    return f"{run_id}:0" if approval is None else f"{run_id}:0:{approval}"


def answer_of(set_aside: str) -> str:
    """The answer's key, of one with an approval."""
    return set_aside.rpartition(":")[0]
