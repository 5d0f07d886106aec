"""When the control socket is open."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from nanobot.addresses import OWNER_ID
from nanobot.app.hosting import ChannelStarter
from nanobot.app.roles import Serving
from nanobot.bus.gate import Gate
from nanobot.config.loader import Config
from nanobot.messages import TERMINAL
from nanobot.operations.dispatcher import Dispatcher
from nanobot.plugins.common.control.protocol import Hello
from nanobot.plugins.common.runs.current_runs import CurrentRuns
from nanobot.plugins.common.runs.programs import Programs
from nanobot.plugins.control.control import ControlServer
from nanobot.plugins.control.terminal import Terminal
from nanobot.providers.registry import ProviderRegistry
from nanobot.workspace.received import Received

_OWNERS = Gate((OWNER_ID,), ())
"""Whoever can open the socket is the owner."""


def objects() -> Mapping[type[Terminal], Terminal]:
    """The terminal as a chat."""
    return {Terminal: Terminal()}


def channels(terminal: Terminal) -> Mapping[str, Terminal]:
    """The same, by its name."""
    return {TERMINAL: terminal}


@asynccontextmanager
async def listening(  # noqa: PLR0913 - each is a part of its own
    config: Config,
    operations: Dispatcher,
    models: ProviderRegistry,
    programs: Programs,
    received: Received,
    terminal: Terminal,
    serving: Serving,
    starter: ChannelStarter,
) -> AsyncIterator[None]:
    """Open the socket within the context. Raises StoreUnwritable if it cannot be created."""
    control = ControlServer(
        config.home / "control.sock",
        operations,
        terminal,
        starter.intake(TERMINAL, _OWNERS),
        lambda session: Hello(os.getpid(), session, models.line, serving.channels),
        CurrentRuns(),
    )
    async with control.serving(programs, received):
        yield
