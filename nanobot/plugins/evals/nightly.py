"""The nightly evaluation: all cases once a night, with a message only about changes."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from loguru import logger

from nanobot.addresses import session_at
from nanobot.bus.core import Bus
from nanobot.errors import ConfigError, ModelError, UsageError
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.evals.report import changes
from nanobot.plugins.evals.results import Evaluation
from nanobot.plugins.evals.service import Evals, Wanted
from nanobot.ports import Clock

_LOOK_SECONDS = 600.0
_LONGEST_SECONDS = 2 * 86_400.0
"""No night is further away, except after the clock was set back."""
_MOST_LINES = 20


def due(now: datetime, time: str) -> datetime:
    """The next time of day `HH:MM` after now."""
    hour, minute = (int(part) for part in time.split(":"))
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


class Nightly:
    """Evaluates at the same time every day. Of several processes that share a store, only one
    evaluates.
    """

    def __init__(self, evals: Evals, bus: Bus, clock: Clock, zone: ZoneInfo) -> None:
        self._evals = evals
        self._bus = bus
        self._clock = clock
        self._zone = zone

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            next_one = due(self._now(), self._evals.settings.nightly)
            while 0 < (left := next_one.timestamp() - self._clock.now()) <= _LONGEST_SECONDS:
                await self._clock.sleep(min(left, _LOOK_SECONDS))
            if left > 0:
                continue  # the clock was set back
            if await self._evals.first_tonight(next_one.date().isoformat()):
                await self.once(next_one.date().isoformat())

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), self._zone)

    async def once(self, day: str) -> None:
        """Evaluate, and report changes."""
        before = await self._evals.last()
        try:
            made = await self._evals.evaluate(Wanted(nightly=True))
        except (ConfigError, ModelError, UsageError) as error:
            logger.warning("the nightly evaluation was not made: {}", error)
            await self._tell(day, f"The nightly evaluation was not made: {error}")
            return
        lines = changes(before, made)
        if made.stopped:
            logger.warning("the nightly evaluation is not complete: {}", made.stopped)
        if lines:
            await self._tell(day, _report(lines, made))

    async def _tell(self, day: str, text: str) -> None:
        channel, _, chat = self._evals.settings.report_to.partition(":")
        address = Address(channel, chat)
        message = OutboundMessage(
            address=address,
            text=text,
            kind=OutboundKind.POST,
            key=f"evals:{day}",
            requested=True,
        )
        await self._bus.journal.post(session_at(address), message)
        self._bus.owed(address)


def _report(lines: list[str], made: Evaluation) -> str:
    shown = lines[:_MOST_LINES]
    if len(lines) > len(shown):
        shown.append(f"... and {len(lines) - len(shown)} more")
    listed = "\n".join(f"- {line}" for line in shown)
    stopped = f"\n\nNot all attempts were made: {made.stopped}." if made.stopped else ""
    return f"Evals changed overnight:\n\n{listed}{stopped}\n\nDetails: `nanobot evals show`"
