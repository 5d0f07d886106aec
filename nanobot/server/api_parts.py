"""The dependencies of the HTTP API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from nanobot.bus.gate import Gate
from nanobot.channels.intake import ChannelIntake
from nanobot.operations.dispatcher import Dispatcher
from nanobot.seam.installed import FoundPlugin
from nanobot.store.beats import Beats
from nanobot.text import Sentence
from nanobot.workspace.received import Received


def _no_plugins(_field: str, _use: Callable[[FoundPlugin, Any], Any]) -> Sequence[Any]:
    return ()


def _nothing_absent(_path: str) -> Sentence:
    return ""


async def _no_plugins_awaited(
    _field: str, _use: Callable[[FoundPlugin, Any], Any], _seconds: float
) -> Sequence[Any]:
    return ()


class ApiParts(msgspec.Struct, frozen=True, kw_only=True):
    """Dependencies from a gateway. `intake` creates the entrance of the page's channel, for the
    gate that admits a caller; `beats` exist if other processes also work on the store.
    `each_plugin` calls a field of each enabled plugin, `each_plugin_awaited` one that may be
    asynchronous. `absent` says why a path is not served whose plugin is not on; else "".
    """

    operations: Dispatcher
    intake: Callable[[Gate], ChannelIntake]
    received: Received
    beats: Beats | None = None
    each_plugin: Callable[[str, Callable[[FoundPlugin, Any], Any]], Sequence[Any]] = _no_plugins
    each_plugin_awaited: Callable[
        [str, Callable[[FoundPlugin, Any], Any], float], Awaitable[Sequence[Any]]
    ] = _no_plugins_awaited
    absent: Callable[[str], Sentence] = _nothing_absent
