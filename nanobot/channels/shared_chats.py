"""Chats that several processes over one store serve at once: whoever is there is there at one of
them, and what one of them is about to show is not in doubt for the others."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.ports import Clock
from nanobot.session.outbox import PartRow

SHOWING_SECONDS = 5.0
"""So long another process may take to show a part before it is taken for ended."""


class SharedChats:
    """Those of one channel. `attended`: whether somebody is in the chat of that id here."""

    def __init__(self, clock: Clock, attended: Callable[[str], bool]) -> None:
        self._clock = clock
        self.attended = attended

    async def waited_for(self, part: PartRow) -> bool:
        """Whether a part that was begun a moment ago was given the time to be shown elsewhere, so
        that its row has to be read again."""
        left = part.began_at + SHOWING_SECONDS - self._clock.now()
        if not 0 < left <= SHOWING_SECONDS:  # or the clock was set
            return False
        await self._clock.sleep(left)
        return True
