"""What plugins do when a gateway starts and stops. None of it keeps the gateway from either."""

from __future__ import annotations

import asyncio
from typing import Any

from nanobot.app.plugged import Plugged
from nanobot.boundary import boundary
from nanobot.text import Sentence

CHANNELS_SECONDS = 10.0
"""How long channels wait for a plugin's function that has no `seconds` of its own."""
MORE_SECONDS = 5.0
"""How long a function may take to end after the time of active runs is over."""


class Moments:
    """The functions of the plugins that are on."""

    def __init__(self, plugged: Plugged) -> None:
        self._before_channels = _given(plugged, "before_channels")
        self._draining = _given(plugged, "draining")

    async def before_channels(self) -> None:
        """Call what channels have to wait for, one after the other."""
        for what, function in self._before_channels:
            with boundary(what):
                async with asyncio.timeout(getattr(function, "seconds", CHANNELS_SECONDS)):
                    await function()

    async def draining(self, seconds: float) -> None:
        """Call what happens at a stop, all at once, while active runs have so many seconds."""
        async with asyncio.TaskGroup() as tasks:
            for what, function in self._draining:
                tasks.create_task(_drained(what, function, seconds), name=what)


async def _drained(what: Sentence, function: Any, seconds: float) -> None:
    with boundary(what):
        async with asyncio.timeout(seconds + MORE_SECONDS):
            await function(seconds)


def _given(plugged: Plugged, field: str) -> list[tuple[Sentence, Any]]:
    """The functions of plugins, each with what is said where it fails."""
    return [(_named(field, found.name), each) for found, each in plugged.functions(field)]


def _named(field: str, plugin: str) -> Sentence:
    return f"{field} of the plugin {plugin}"
