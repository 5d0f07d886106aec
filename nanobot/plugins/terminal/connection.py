"""Finds or starts the server of a home for its terminals: a running nanobot, or this process
itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import msgspec

from nanobot.app.gateway import Gateway
from nanobot.config.loader import Config
from nanobot.config.plugin_tables import switched
from nanobot.errors import NanobotError, StoreLocked
from nanobot.plugins.common.control.client import ControlClient, unserved
from nanobot.plugins.common.keys.without_channels import load_without_channels
from nanobot.providers.base import Models
from nanobot.system import raise_open_files

_CONNECT_SECONDS = 5.0
_DRAIN_SECONDS = 2.0
_MODEL_SECONDS = 1.0


@asynccontextmanager
async def connected(
    config: Config, environ: Mapping[str, str], *, greets: bool
) -> AsyncIterator[ControlClient]:
    """A client of the nanobot that serves this home. If there is none, this process serves, which
    needs every secret that the configuration refers to. A client that `greets` may wait a moment
    until the answering model is known.
    """
    path = config.home / "control.sock"
    async with AsyncExitStack() as stack:
        client = await ControlClient.connect(path)
        if client is None:
            if "control" not in switched(config).on:
                raise unserved(config)
            raise_open_files()
            drain = min(config.drain_seconds, _DRAIN_SECONDS)
            own = Gateway(
                msgspec.structs.replace(load_without_channels(environ), drain_seconds=drain),
                environ,
                channels=False,
                page=greets,
            )
            try:
                parts = await stack.enter_async_context(
                    own.serving("nanobot agent", lambda _line: None)
                )
            except StoreLocked as locked:
                client = await _soon(path, locked)
            else:
                if greets:
                    await _know_the_model(parts.models)
                client = await ControlClient.connect(path)
        if client is None:
            raise NanobotError(f"{path} does not answer")
        stack.push_async_callback(client.close)
        yield client


async def _know_the_model(models: Models) -> None:
    """The first answer, and the log, report its problem."""
    with suppress(TimeoutError, NanobotError):
        async with asyncio.timeout(_MODEL_SECONDS):
            await models.pick(None)


async def _soon(path: Path, locked: StoreLocked) -> ControlClient:
    """Another process holds the home but does not answer yet: it may be starting."""
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            while (client := await ControlClient.connect(path)) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise locked from None
    return client
