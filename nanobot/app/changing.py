"""Plugins that change messages: before they are admitted, and before they are rendered for a chat;
and results of tools, before they are recorded.

If a plugin's function fails, the message is taken or sent without it, so that none is lost. A call
whose result it should filter fails.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from nanobot.app.plugged import Plugged
from nanobot.boundary import boundary
from nanobot.bus.core import Arriving, Bus, Outgoing
from nanobot.errors import PluginBroken, StoreError, ToolError
from nanobot.messages import OutboundMessage
from nanobot.seam.given import of_kind
from nanobot.seam.installed import FoundPlugin
from nanobot.session.inbox import Admission
from nanobot.tools.base import CallContext, ResultFilter, ToolOutput
from nanobot.tools.registry import ToolRegistry

ARRIVING_SECONDS = OUTGOING_SECONDS = 10.0
"""Time limit for a plugin that changes a message; its chat waits meanwhile. Of arriving ones, a
function may have another limit as its `seconds`."""
RESULT_SECONDS = 60.0
"""Time limit for a plugin that filters a result and has no `seconds` of its own."""


def take_changes(plugged: Plugged, bus: Bus) -> None:
    """Have plugins change the messages of a gateway."""
    bus.arrivals += [
        partial(_received, found.name, function)
        for found, function in plugged.functions("arrivals")
    ]
    bus.outgoing += [
        contained(found.name, function) for found, function in plugged.functions("outgoing")
    ]


async def _received(name: str, change: Arriving, admission: Admission) -> Admission:
    if admission.message.deleted:
        return admission
    with boundary(f"arrivals of the plugin {name}"):
        async with asyncio.timeout(getattr(change, "seconds", ARRIVING_SECONDS)):
            return of_kind(await change(admission), Admission)
    return admission


def contained(name: str, change: Outgoing, seconds: float = OUTGOING_SECONDS) -> Outgoing:
    """The function of a plugin; a message that it cannot change is returned as it was."""

    async def changed(message: OutboundMessage) -> OutboundMessage:
        with boundary(f"outgoing messages of the plugin {name}"):
            async with asyncio.timeout(seconds):
                return of_kind(await change(message), OutboundMessage)
        return message

    return changed


def filter_results(registry: ToolRegistry, plugged: Plugged) -> None:
    """Have plugins change results of calls. If one fails, so do the calls that it should filter."""
    registry.results += [
        partial(_filtered, found, function) for found, function in plugged.functions("results")
    ]
    for name, fields in plugged.failures.items():
        if "results" in fields:
            registry.results.append(partial(_withheld, name))


async def _filtered(
    found: FoundPlugin, change: ResultFilter, tool: str, output: ToolOutput, context: CallContext
) -> ToolOutput:
    filtered: Any = None
    with boundary(f"results of the plugin {found.name}") as caught:
        async with asyncio.timeout(getattr(change, "seconds", RESULT_SECONDS)):
            filtered = await change(tool, output, context)
        if not isinstance(filtered, ToolOutput) or not isinstance(filtered.text, str):
            raise PluginBroken(f"it gives a {type(filtered).__name__}, not a ToolOutput")
        return filtered
    if not found.package and isinstance(caught.error, StoreError):
        raise caught.error
    raise ToolError(
        f"the result of {tool} is not shown: the plugin {found.name} could not filter it"
    )


async def _withheld(plugin: str, tool: str, output: ToolOutput, _: CallContext) -> ToolOutput:
    if output.tainted:
        raise ToolError(
            f"the result of {tool} may contain content from outside, and the plugin {plugin}, "
            "which filters results, is broken: `nanobot plugins` says why"
        )
    return output
