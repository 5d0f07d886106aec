"""A gateway that does not serve, for the operation of a command."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from nanobot.app.blob_storage import blobs_of
from nanobot.app.gateway import Gateway
from nanobot.app.program import Program
from nanobot.config.loader import Config
from nanobot.errors import ConfigError
from nanobot.operations.dispatcher import Dispatcher
from nanobot.store.opening import in_memory_database
from nanobot.store.servers import url_of
from nanobot.workspace.blobs import Blobs


def gateway_of(
    config: Config, environ: Mapping[str, str], *, of_home: bool, beside: bool
) -> Gateway:
    """The gateway. `of_home`: the command needs neither the store nor files; they are empty where
    the plugin of the configured ones is off, and `beside` one that serves."""
    program: Program | None = None
    if of_home:
        try:
            url_of(config)
            blobs_of(config)
        except ConfigError:
            beside = True
    if beside:
        blobs = Blobs(config.home / "blobs")
        program = Program(store=in_memory_database(), blobs=blobs)
    return Gateway(config, environ, channels=False, program=program)


@asynccontextmanager
async def operations(gateway: Gateway, command: str) -> AsyncIterator[Dispatcher]:
    """Its operations over the store alone. While inside, no run starts, no channel is served and no
    other process can open a SQLite store. Raises ConfigError or StoreError."""
    async with AsyncExitStack() as stack:
        parts = await gateway.opened(stack, command)
        await parts.guard.look_at_others()
        yield parts.operations
        await parts.peers.tell_to_look()
