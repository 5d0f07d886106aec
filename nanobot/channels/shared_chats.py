"""Chats that several processes over one store serve at once. A client is attached to one of the
processes, and the others do not treat a part that it is about to show as in doubt."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.ports import Clock
from nanobot.session.outbox import PartRow

SHOWING_SECONDS = 5.0
"""After this time, another process that was about to show a part counts as ended."""


class SharedChats:
    """Shared chats of one channel. `attended`: whether a client is attached to that chat here."""

    def __init__(self, clock: Clock, attended: Callable[[str], bool]) -> None:
        self._clock = clock
        self.attended = attended

    async def waited_for(self, part: PartRow) -> bool:
        """Wait if another process began to show a part a moment ago. True: it waited, so the row
        must be read again."""
        left = part.began_at + SHOWING_SECONDS - self._clock.now()
        if not 0 < left <= SHOWING_SECONDS:  # or the clock was set
            return False
        await self._clock.sleep(left)
        return True
