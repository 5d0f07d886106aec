"""The 24 hours after a person's last message, in which WhatsApp lets a business write to them."""

from __future__ import annotations

import msgspec

WINDOW_SECONDS = 24 * 3600.0
_MARGIN_SECONDS = 60.0
_MOST = 300


class Heard(msgspec.Struct, frozen=True, array_like=True):
    """When a person last wrote, and the id of that message."""

    at: float
    message_id: str = ""


class _Kept(msgspec.Struct):
    since: float
    chats: dict[str, Heard] = {}
    asked: dict[str, float] = {}


class Windows:
    """The known state of each chat. It is stored as the channel's cursor, in one transaction with
    the messages, so that it survives a restart. `since`: everything from then on is known.
    """

    def __init__(self, now: float) -> None:
        self._kept = _Kept(now)

    def load(self, cursor: str | None) -> None:
        """Merge what another process, or an earlier one, knew; newer data here stays."""
        try:
            kept = msgspec.json.decode(cursor or "", type=_Kept)
        except (msgspec.DecodeError, RecursionError):
            return
        own, self._kept = self._kept, kept
        kept.since = min(own.since, kept.since)
        for chat, heard in own.chats.items():
            self.heard(chat, heard)
        for chat, at in own.asked.items():
            kept.asked[chat] = max(at, kept.asked.get(chat, 0.0))

    def cursor(self, now: float) -> str:
        """The data worth storing."""
        kept = self._kept
        recent = {chat: heard for chat, heard in kept.chats.items() if self._open(heard, now)}
        newest = sorted(recent.items(), key=lambda pair: pair[1].at)[-_MOST:]
        if len(newest) < len(recent):
            kept.since = now  # the state of omitted chats is then unknown
        kept.chats = dict(newest)
        kept.asked = dict(sorted(kept.asked.items(), key=lambda pair: pair[1])[-_MOST:])
        return msgspec.json.encode(kept).decode()

    def heard(self, chat: str, heard: Heard) -> None:
        """A person wrote; messages may arrive out of order."""
        before = self._kept.chats.get(chat)
        if before is None or heard.at >= before.at:
            self._kept.chats[chat] = heard
        self._kept.asked.pop(chat, None)

    def last(self, chat: str) -> str:
        """The id of the last message there; "" if it is unknown."""
        return self._kept.chats.get(chat, Heard(0.0)).message_id

    def is_closed(self, chat: str, now: float) -> bool:
        """Whether their 24 hours are over, as far as known."""
        heard = self._kept.chats.get(chat)
        if heard is not None:
            return not self._open(heard, now)
        return chat in self._kept.asked or now - self._kept.since > WINDOW_SECONDS

    def refused(self, chat: str) -> None:
        """WhatsApp reports that they are over."""
        self._kept.chats[chat] = Heard(0.0)

    def ask(self, chat: str, now: float) -> bool:
        """Whether to ask the person to write; only once until they do."""
        if chat in self._kept.asked:
            return False
        self._kept.asked[chat] = now
        return True

    def not_asked(self, chat: str) -> None:
        """Asking was not possible now."""
        self._kept.asked.pop(chat, None)

    @staticmethod
    def _open(heard: Heard, now: float) -> bool:
        return now - heard.at < WINDOW_SECONDS - _MARGIN_SECONDS
