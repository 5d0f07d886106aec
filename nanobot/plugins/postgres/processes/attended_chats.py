"""Chats that several processes over one store serve at once. A client is attached to one of the
processes, and the others do not treat a part that it is about to show as in doubt."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.channels.chat_leases import ChatLeases
from nanobot.ports import Clock
from nanobot.session.journal import Journal
from nanobot.session.outbox import PartRow

SHOWING_SECONDS = 5.0
"""After this time, another process that was about to show a part counts as ended."""


class AttendedChats(ChatLeases):
    """The chats of a channel with clients. `attended`: whether one is attached to that chat
    here."""

    def __init__(self, journal: Journal, clock: Clock, attended: Callable[[str], bool]) -> None:
        super().__init__(journal)
        self._clock = clock
        self._attended = attended

    def attended(self, chat_id: str) -> bool:
        return self._attended(chat_id)

    async def waited_for(self, part: PartRow) -> bool:
        left = part.began_at + SHOWING_SECONDS - self._clock.now()
        if not 0 < left <= SHOWING_SECONDS:  # or the clock was set
            return False
        await self._clock.sleep(left)
        return True
