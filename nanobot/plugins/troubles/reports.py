"""Trouble reports tell owners about repeated failures."""

from __future__ import annotations

from typing import Protocol

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.messages import Address
from nanobot.ports import Clock
from nanobot.troubles import TROUBLES, Trouble

LOOK_SECONDS = 20.0
LEAST = 2
"""Failures in a row before a report; a single one may be chance."""
_AGAIN_SECONDS = 86_400.0
_MOST_AT_ONCE = 5


class OwnerNotices(Protocol):
    """Sends notices to owners."""

    async def tell(self, about: str, text: str) -> tuple[Address, ...]:
        """Send the owners a text, at most once a day about the same topic. Returns the chats."""


class TroubleReports:
    """Checks the troubles of this process while `run` is active."""

    def __init__(self, notices: OwnerNotices, bus: Bus, clock: Clock) -> None:
        self._notices = notices
        self._bus = bus
        self._clock = clock
        self._told: dict[str, float] = {}

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            with boundary("telling owners what keeps failing"):
                await self.look()

    async def look(self) -> None:
        """Tell owners about new failures, each once a day. Raises StoreError."""
        now = self._clock.monotonic()
        self._told = {what: at for what, at in self._told.items() if now - at < _AGAIN_SECONDS}
        fresh = [each for each in TROUBLES.recent(LEAST) if each.what not in self._told]
        if not fresh:
            return
        for address in await self._notices.tell(fresh[0].what, _text(fresh)):
            self._bus.owed(address)
        self._told |= dict.fromkeys((each.what for each in fresh), now)


def _text(troubles: list[Trouble]) -> str:
    lines = [f"- {each}" for each in troubles[:_MOST_AT_ONCE]]
    if len(troubles) > _MOST_AT_ONCE:
        lines.append(f"- and {len(troubles) - _MOST_AT_ONCE} more")
    return "\n".join(
        [
            "This keeps failing and is tried again; everything else works:",
            *lines,
            "`nanobot doctor` and the log say more.",
        ]
    )
