"""The dependencies of the HTTP API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from nanobot.bus.gate import Gate
from nanobot.channels.intake import ChannelIntake
from nanobot.operations.dispatcher import Dispatcher
from nanobot.seam.faces import Frontend
from nanobot.seam.installed import FoundPlugin
from nanobot.text import Sentence
from nanobot.workspace.received import Received


def _nothing_absent(_path: str) -> Sentence:
    return ""


async def _no_plugins(
    _field: str, _use: Callable[[FoundPlugin, Any], Any], _seconds: float
) -> Sequence[Any]:
    return ()


class ApiParts(msgspec.Struct, frozen=True, kw_only=True):
    """Dependencies from a gateway. `intake` creates the entrance of the page's channel, for the
    gate that admits a caller. `each_plugin` calls a field of each enabled plugin, whose function
    may be asynchronous; `frontend` is what they serve as the page. `absent` says why a path is not
    served whose plugin is not on; "" for any other path.
    """

    operations: Dispatcher
    intake: Callable[[Gate], ChannelIntake]
    received: Received
    frontend: Frontend = msgspec.field(default_factory=Frontend)
    each_plugin: Callable[
        [str, Callable[[FoundPlugin, Any], Any], float], Awaitable[Sequence[Any]]
    ] = _no_plugins
    absent: Callable[[str], Sentence] = _nothing_absent
