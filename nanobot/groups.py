"""Groups: which of the many messages there are meant for the assistant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from nanobot.bus.events import InboundMessage
from nanobot.settings import ChatSettings

Listening: TypeAlias = Literal["mention", "all", "off"]

_BEHIND = " \t\n,:;"
"""What may stand between the prefix and what is said."""


class Groups(msgspec.Struct, frozen=True, kw_only=True):
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
        said = self._without_prefix(message.text)
        if said is not None:
            return msgspec.structs.replace(message, text=said, addressed=True)
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
