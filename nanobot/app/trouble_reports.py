"""Trouble reports: owners are told of works that keep failing."""

from __future__ import annotations

from typing import Protocol

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.messages import Address
from nanobot.ports import Clock
from nanobot.troubles import TROUBLES, Trouble

LOOK_SECONDS = 20.0
LEAST = 2
"""So many failures in a row are reported; a single one may have been chance."""
_AGAIN_SECONDS = 86_400.0
_MOST_AT_ONCE = 5


class OwnerNotices(Protocol):
    """What can be told to owners."""

    async def tell(self, about: str, text: str) -> tuple[Address, ...]:
        """Owe the owners a text, at most once a day about the same; returns where it is owed."""
        ...


class TroubleReports:
    """Looks at the troubles of this process for as long as `run` runs."""

    def __init__(self, notices: OwnerNotices, bus: Bus, clock: Clock) -> None:
        self._notices = notices
        self._bus = bus
        self._clock = clock
        self._told: dict[str, float] = {}

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            with boundary("telling owners what keeps failing"):
                await self.look()

    async def look(self) -> None:
        """Tell owners of what began to fail, each once a day. Raises StoreError."""
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
