"""The sign of typing, where nothing else shows that a run works."""

from __future__ import annotations

import asyncio

from loguru import logger

from nanobot.boundary import boundary
from nanobot.channels.companions import ChannelParts
from nanobot.errors import ChannelError
from nanobot.plugins.progress.activity import Activity, RunInProgress, Showing
from nanobot.ports import Clock, Telling

TYPING_AFTER = 1.0
"""Seconds until typing is shown, so that a quick answer needs no extra call."""
TYPING_EVERY = 4.0
"""Platforms hide the sign after about five seconds."""
_PATIENCE_SECONDS = 5.0


class Typing(Showing):
    """The sign in the chats of one channel."""

    def __init__(self, parts: ChannelParts, activity: Activity, clock: Clock) -> None:
        self._channel = parts.channel
        self._moved = parts.moved
        self._rates = parts.sender.rates
        self._activity = activity
        self._clock = clock

    async def run(self) -> None:
        shown: dict[str, float] = {}
        while True:
            await self._activity.any()
            await self._clock.sleep(TYPING_AFTER)
            now = self._clock.monotonic()
            runs = list(self._activity.runs.values())
            shown = {run.run_id: shown[run.run_id] for run in runs if run.run_id in shown}
            for run in runs:
                due = shown.get(run.run_id, run.since + TYPING_AFTER)
                if due > now or any(other.shows(run) for other in self._activity.shown_by):
                    continue
                if self._rates.free(run.address.chat_id):
                    shown[run.run_id] = now + TYPING_EVERY
                    with boundary(f"typing in {run.address}"):
                        await self._show(run)

    async def _show(self, run: RunInProgress) -> None:
        channel, there = self._channel, self._moved.there(run.address)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                if run.tool and isinstance(channel, Telling):
                    await channel.tell(there, run.tool)
                else:
                    await channel.typing(there)
        except (ChannelError, TimeoutError) as error:
            logger.debug("{}: typing could not be shown: {}", run.address, error)
