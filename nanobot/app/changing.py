"""Plugins that change messages: before they are admitted, and before they are rendered for a chat.

If a plugin's function fails, the message is taken or sent without it, so that none is lost.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from nanobot.app.bringing import functions
from nanobot.app.plugged import Plugged
from nanobot.boundary import boundary
from nanobot.bus.core import Arriving, Bus, Outgoing
from nanobot.errors import PluginBroken
from nanobot.messages import OutboundMessage
from nanobot.seam.installed import FoundPlugin
from nanobot.session.inbox import Admission

OUTGOING_SECONDS = 10.0
"""Time limit for a plugin that changes a message; its chat waits meanwhile."""


def take_changes(plugged: Plugged, bus: Bus) -> None:
    """Have plugins change the messages of a gateway."""

    def arriving(found: FoundPlugin, given: Any) -> None:
        bus.arrivals += [partial(_received, found.name, function) for function in functions(given)]

    def outgoing(found: FoundPlugin, given: Any) -> None:
        bus.outgoing += [contained(found.name, function) for function in functions(given)]

    plugged.each("arrivals", arriving)
    plugged.each("outgoing", outgoing)


async def _received(name: str, change: Arriving, admission: Admission) -> Admission:
    with boundary(f"arrivals of the plugin {name}"):
        result: object = await change(admission)
        if not isinstance(result, Admission):
            raise PluginBroken(f"it gives a {type(result).__name__}, not an Admission")
        return result
    return admission


def contained(name: str, change: Outgoing, seconds: float = OUTGOING_SECONDS) -> Outgoing:
    """The function of a plugin; a message that it cannot change is returned as it was."""

    async def changed(message: OutboundMessage) -> OutboundMessage:
        with boundary(f"outgoing messages of the plugin {name}"):
            async with asyncio.timeout(seconds):
                result: object = await change(message)
            if not isinstance(result, OutboundMessage):
                raise PluginBroken(f"it gives a {type(result).__name__}, not an OutboundMessage")
            return result
        return message

    return changed
