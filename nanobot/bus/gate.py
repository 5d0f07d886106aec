"""The gate: who may speak on a channel and as what, which session a message belongs to, and what
text is let through. Nobody is let in by default."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal, TypeAlias

from nanobot.bus.events import Address, Role

SessionPolicy: TypeAlias = Literal["chat", "thread", "sender"]

MAX_TEXT = 1_000_000
"""Characters of one message; longer ones are refused with a word to the sender."""

_EVERYONE = "*"
# C0 and C1 controls but for tab and newline, and halves of surrogate pairs: no chat needs them,
# and the store, the model's JSON or a terminal would trip over them.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Gate:
    """Who may speak on one channel. `members` with "*" lets everyone in as a member."""

    def __init__(self, owners: Collection[str], members: Collection[str]) -> None:
        self._owners = frozenset(owners)
        self._members = frozenset(members)

    def role(self, sender_id: str) -> Role | None:
        """The sender's role; None for a stranger."""
        if sender_id in self._owners:
            return Role.OWNER
        if sender_id in self._members or _EVERYONE in self._members:
            return Role.MEMBER
        return None


def session_key(address: Address, sender_id: str, policy: SessionPolicy) -> str:
    """`channel:chat_id[:thread_id][:@sender]`, by the session policy."""
    key = f"{address.channel}:{address.chat_id}"
    if policy != "chat" and address.thread_id is not None:
        key += f":{address.thread_id}"
    return f"{key}:@{sender_id}" if policy == "sender" else key


def clean(text: str) -> str:
    """The text without control characters and broken surrogates, lines ended by newlines."""
    return _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
