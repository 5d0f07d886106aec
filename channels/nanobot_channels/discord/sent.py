"""Which of the bot's own messages arrived, according to the gateway and the history."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.errors import Uncertain
from nanobot.messages import Attachment
from nanobot.ports import OutboundPart
from nanobot_channels.common.recent import Recent
from nanobot_channels.discord.messages import Message, UploadedFile, sent_at
from nanobot_channels.discord.parts import content_of, nonce_of, payload_of

_MOST = 1000
CLOCK_MARGIN = 60.0
"""Seconds by which a message may seem older than the send that made it."""


class SentMessages:
    """The bot's own messages by their nonce, as the gateway reports them."""

    def __init__(self) -> None:
        self._by_nonce: Recent[str, str] = Recent(_MOST)

    def record(self, message: Message) -> None:
        """Remember a message of the bot's own from the gateway."""
        if message.nonce:
            self._by_nonce[str(message.nonce)] = message.id

    def id_of(self, part: OutboundPart) -> str | None:
        """The message that the gateway reported for a part."""
        return self._by_nonce.get(nonce_of(part) or "")

    def among(
        self, history: Sequence[Message], part: OutboundPart, me: str, since: float
    ) -> str | None:
        """The message in a chat's history that is this part, None if there is certainly none.

        `since`: when its first send began, by Discord's clock. The history usually has no nonces.
        Without one, a message of ours matches if its text is the same and it is not another part's;
        one from before the send is an earlier answer with the same text. Raises Uncertain, with
        their ids, for messages so close to the beginning that the clocks cannot decide.
        """
        # The gateway may have reported it while the history was read.
        if (shown := self.id_of(part)) is not None:
            return shown
        nonce = nonce_of(part)
        ours = [message for message in history if message.author.id == me]
        exact = next((message.id for message in ours if nonce and message.nonce == nonce), None)
        if exact is not None:
            return exact
        others = set(self._by_nonce.values())
        alike = [
            message
            for message in ours
            if not message.nonce and message.id not in others and _reads_like(message, part)
        ]
        moments = {message.id: sent_at(message.number) for message in alike}
        after = [message.number for message in alike if since and moments[message.id] >= since]
        if after:
            return str(min(after))
        about = [number for number, moment in moments.items() if moment > since - CLOCK_MARGIN]
        if about:
            error = Uncertain("the chat has the same text twice from about the time of the send")
            error.perhaps = tuple(about)
            raise error
        return None


def _reads_like(message: Message, part: OutboundPart) -> bool:
    reply_to, reference = payload_of(part).reply_to, message.message_reference
    if reply_to and reference and reference.message_id != reply_to:
        return False
    texts = {_plain(content_of(part)), _plain(content_of(part, plain=True))}
    if part.file is None:
        return not message.attachments and _plain(message.words) in texts
    ours, there = (part.file, *part.others), message.attachments
    same_files = len(ours) == len(there) and all(map(_same_file, there, ours))
    return same_files and _plain(message.words) in (texts if part.text else {""})


def _same_file(there: UploadedFile, ours: Attachment) -> bool:
    """By size and name if both are known. Discord keeps the letters and digits of ASCII names, and
    a voice message has its own name.
    """
    kept = ours.name.isascii() and ours.kind != "voice"
    if kept and ours.name and _letters(there.filename) != _letters(ours.name):
        return False
    return there.size == ours.size if ours.size else kept


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name))


def _plain(text: str) -> str:
    """The text without differences in white space, which Discord may change."""
    return " ".join(text.split())
