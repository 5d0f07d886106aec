"""The gate decides who may speak on a channel and in what role, which session a message belongs to,
and which text is let through. By default it lets in no one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, Protocol, TypeAlias

import msgspec

from nanobot.messages import Address, InboundMessage, OutboundMessage, Role, Sender
from nanobot.ports import Capabilities
from nanobot.text import Sentence

Listening: TypeAlias = Literal["mention", "all", "off"]

_BEHIND = " \t\n,:;"
"""Characters allowed between the prefix and the text."""
_EVERYONE = "*"


class Room(Protocol):
    """What is configured for one group."""

    @property
    def groups(self) -> Literal["", "mention", "all", "off"]:
        """What is heard there; empty: as everywhere on the channel."""

    @property
    def members(self) -> Collection[str]:
        """People who are members there; "*" stands for everyone."""


class GroupMode(msgspec.Struct, frozen=True, kw_only=True):
    """Which group messages are heard: `usual`, unless `chats` has an entry for the group. `prefix`:
    the beginning of a message to the assistant, as an alternative to a mention."""

    usual: Listening = "mention"
    prefix: str = ""
    chats: Mapping[str, Room] = {}

    def heard(self, message: InboundMessage) -> InboundMessage | None:
        """The message as addressed to the assistant (without the prefix), as not addressed (it may
        still be a command), or None if it must not be read."""
        if not message.group:
            return msgspec.structs.replace(message, addressed=True)
        listening = self._listening(message.address.chat_id)
        if listening == "off":
            return None
        text = self._without_prefix(message.text)
        if text is not None:
            return msgspec.structs.replace(message, text=text, addressed=True)
        if message.addressed or message.pressed:
            return msgspec.structs.replace(message, addressed=True)
        if listening == "all" and (message.text.strip() or message.attachments):
            return msgspec.structs.replace(message, addressed=True)
        return message

    def _listening(self, chat_id: str) -> Listening:
        room = self.chats.get(chat_id)
        return (room.groups if room is not None else "") or self.usual

    def _without_prefix(self, text: str) -> str | None:
        """The text after the prefix, or None: "!bother" does not begin with the prefix "!bot"."""
        size = len(self.prefix)
        text = text.lstrip()
        if not size or text[:size].casefold() != self.prefix.casefold():
            return None
        rest = text[size:]
        if rest and rest[0] not in _BEHIND and self.prefix[-1].isalnum():
            return None
        return rest.lstrip(_BEHIND)


class Strangers(Protocol):
    """Who was let in apart from the configuration, and how strangers ask for it."""

    def reached(self, channel: str) -> Sentence:
        """What they get by it on a channel, for the security audit."""

    async def role(self, channel: str, sender_id: str) -> Role | None:
        """The role that a person was given; None for a stranger."""

    async def ask(
        self, address: Address, sender: Sender
    ) -> tuple[OutboundMessage, tuple[Address, ...]] | Role:
        """The message that tells a stranger how to be let in, and the chats to tell of it; their
        role, if they were let in at this moment."""


class Gate:
    """Decides who may speak on one channel. "*" among `members` or `guests` gives everyone that
    role. `strangers`: lets people in, in addition; without it, strangers are told that they have no
    access, unless the channel is discreet. `able`: the channel's abilities."""

    def __init__(
        self,
        owners: Collection[str],
        members: Collection[str],
        guests: Collection[str] = (),
        groups: GroupMode = GroupMode(),  # noqa: B008 - frozen
        *,
        strangers: Strangers | None = None,
        able: Capabilities = Capabilities(),  # noqa: B008 - frozen
    ) -> None:
        self.groups = groups
        self.strangers = strangers
        self.discreet = able.discreet
        self.threads = able.threads
        self._owners = frozenset(owners)
        self._members = frozenset(members)
        self._guests = frozenset(guests)

    def role(self, sender_id: str, chat_id: str = "", let_in: Role | None = None) -> Role | None:
        """The sender's role in a chat; None: a stranger. `let_in`: the role that `strangers` gives;
        it overrides everyone's."""
        room = self.groups.chats.get(chat_id)
        here = frozenset(room.members if room is not None else ())
        if sender_id in self._owners or let_in is Role.OWNER:
            return Role.OWNER
        if sender_id in self._members or sender_id in here:
            return Role.MEMBER
        if sender_id in self._guests:
            return Role.GUEST
        if let_in is not None:
            return let_in
        if _EVERYONE in self._members or _EVERYONE in here:
            return Role.MEMBER
        return Role.GUEST if _EVERYONE in self._guests else None

    def names(self, sender_id: str) -> bool:
        """Whether the configuration gives them a role on the whole channel."""
        return sender_id in self._owners | self._members | self._guests
