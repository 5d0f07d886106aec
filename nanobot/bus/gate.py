"""The gate: who may speak on a channel and as what, which session a message belongs to, and what
text is let through. Nobody is let in by default."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

import msgspec

from nanobot.config.settings.channels import ChatSettings
from nanobot.messages import InboundMessage, Role
from nanobot.ports import Capabilities

Listening: TypeAlias = Literal["mention", "all", "off"]


_BEHIND = " \t\n,:;"


"""What may stand between the prefix and what is said."""


class GroupMode(msgspec.Struct, frozen=True, kw_only=True):
    """What is heard in groups: `usual`, unless `chats` says otherwise for one. `prefix`: how a
    message may begin that is meant for the assistant, instead of a mention."""

    usual: Listening = "mention"
    prefix: str = ""
    chats: Mapping[str, ChatSettings] = {}

    def heard(self, message: InboundMessage) -> InboundMessage | None:
        """The message as addressed to the assistant (the prefix taken off), as one that is not
        (which a command still may be), or None if it is not to be read at all."""
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
        """What follows the prefix, None if it does not begin so: "!bother" is not for "!bot"."""
        size = len(self.prefix)
        text = text.lstrip()
        if not size or text[:size].casefold() != self.prefix.casefold():
            return None
        rest = text[size:]
        if rest and rest[0] not in _BEHIND and self.prefix[-1].isalnum():
            return None
        return rest.lstrip(_BEHIND)


_EVERYONE = "*"


class Gate:
    """Who may speak on one channel. "*" among `members` or `guests` lets everyone in as that.
    `pairing`: strangers may ask to be let in; where not, they are told so, unless the
    channel is discreet. `able`: what the channel is."""

    def __init__(
        self,
        owners: Collection[str],
        members: Collection[str],
        guests: Collection[str] = (),
        groups: GroupMode = GroupMode(),  # noqa: B008 - frozen
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
