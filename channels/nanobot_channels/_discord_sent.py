"""Which messages of ours arrived, as far as Discord tells."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.ports import OutboundPart
from nanobot_channels._discord_messages import Message, sent_at
from nanobot_channels._discord_parts import content_of, nonce_of, payload_of

_MOST = 1000
_TELLING = 64
_LONGEST_AGO = 86_400.0


class Sent:
    """The gateway shows every message of ours with the nonce that it was sent with."""

    def __init__(self) -> None:
        self._by_nonce: dict[str, str] = {}

    def heard(self, message: Message) -> None:
        """A message of ours, from the gateway."""
        if message.nonce:
            self._by_nonce[message.nonce] = message.id
        while len(self._by_nonce) > _MOST:
            del self._by_nonce[next(iter(self._by_nonce))]

    def known(self, part: OutboundPart) -> str | None:
        """The message that the gateway has shown for a part."""
        return self._by_nonce.get(nonce_of(part) or "")

    def among(
        self, history: Sequence[Message], part: OutboundPart, me: str, now: float
    ) -> str | None:
        """The message in a chat's history that is this part, None if none is it for certain.

        The history has no nonces as a rule. Without one, a message counts that answers what the
        part answers and reads the same, or that is long enough to be nobody else. A short one is
        not certain; it is sent again with its nonce, and Discord drops it if it was there.
        """
        nonce, wanted = nonce_of(part), content_of(part).strip()
        reply_to = payload_of(part).reply_to
        for message in history:
            if message.author.id != me:
                continue
            if nonce and message.nonce == nonce:
                return message.id
            taken = message.id in self._by_nonce.values() or bool(message.nonce)
            if taken or part.file or message.content.strip() != wanted:
                continue
            reference = message.message_reference
            if reply_to and reference and reference.message_id == reply_to:
                return message.id
            recent = now - sent_at(message.number) < _LONGEST_AGO
            if not reply_to and len(wanted) >= _TELLING and recent:
                return message.id
        return None
