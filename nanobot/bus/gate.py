"""The gate: who may speak on a channel and as what, which session a message belongs to, and what
text is let through. Nobody is let in by default."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal, TypeAlias

from nanobot.bus.events import Address, Role
from nanobot.groups import Groups
from nanobot.ports import Capabilities

SessionPolicy: TypeAlias = Literal["chat", "thread", "sender"]

MAX_TEXT = 1_000_000
"""Characters of one message; longer ones are refused with a word to the sender."""

_EVERYONE = "*"
# C0 and C1 controls but for tab and newline, and halves of surrogate pairs: no chat needs them,
# and the store, the model's JSON or a terminal would trip over them.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Gate:
    """Who may speak on one channel. "*" among `members` or `guests` lets everyone in as that.
    `pairing`: strangers may ask to be let in; where not, they are told so, unless the
    channel is discreet. `able`: what the channel is."""

    def __init__(
        self,
        owners: Collection[str],
        members: Collection[str],
        guests: Collection[str] = (),
        groups: Groups = Groups(),  # noqa: B008 - frozen
        *,
        pairing: bool = True,
        able: Capabilities = Capabilities(),  # noqa: B008 - frozen
    ) -> None:
        self.groups = groups
        self.pairing = pairing
        self.discreet = able.discreet
        self.threads = able.threads
        self._owners = frozenset(owners)
        self._members = frozenset(members)
        self._guests = frozenset(guests)

    def role(self, sender_id: str, chat_id: str = "", paired: Role | None = None) -> Role | None:
        """The sender's role in a chat; None for a stranger. What they were `paired` as counts
        before what everybody is."""
        room = self.groups.chats.get(chat_id)
        here = frozenset(room.members if room is not None else ())
        if sender_id in self._owners or paired is Role.OWNER:
            return Role.OWNER
        if sender_id in self._members or sender_id in here:
            return Role.MEMBER
        if sender_id in self._guests:
            return Role.GUEST
        if paired is not None:
            return paired
        if _EVERYONE in self._members or _EVERYONE in here:
            return Role.MEMBER
        return Role.GUEST if _EVERYONE in self._guests else None

    def names(self, sender_id: str) -> bool:
        """Whether the configuration says who they are on the whole channel."""
        return sender_id in self._owners | self._members | self._guests


def session_key(address: Address, sender_id: str, policy: SessionPolicy) -> str:
    """`channel:chat_id[:thread_id][:@sender]`, by the session policy."""
    key = f"{address.channel}:{address.chat_id}"
    if policy != "chat" and address.thread_id is not None:
        key += f":{address.thread_id}"
    return f"{key}:@{sender_id}" if policy == "sender" else key


def clean(text: str) -> str:
    """The text without control characters and broken surrogates, lines ended by newlines."""
    return _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
