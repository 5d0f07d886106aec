"""The command line waits for operations that may take long, and for no others for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.errors import NanobotError
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.common.control.client import listing
from tests.server.housing import house


@asynccontextmanager
async def behind(folder: Path, seconds: float) -> AsyncIterator[Path]:
    """The control socket of a gateway whose answers take their time."""
    async with house(folder / "home") as here:

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            theirs, ours = await asyncio.open_unix_connection(here.home / "control.sock")
            line = await reader.readline()
            while line:
                ours.write(line)
                await asyncio.sleep(seconds)
                writer.write(await theirs.readline())
                line = await reader.readline()
            ours.close()
            writer.close()

        place = folder / "slow.sock"
        server = await asyncio.start_unix_server(relay, place)
        async with server:
            yield place


async def test_a_call_without_a_limit_gets_its_late_answer(tmp_path: Path) -> None:
    async with behind(tmp_path, 0.5) as socket:
        with pytest.raises(NanobotError, match="does not answer"):
            await listing(socket, "runs now", {}, 0.05)
        answer = await listing(socket, "runs now", {}, None)
    assert answer is not None


def test_what_may_take_long_says_so() -> None:
    slow = {each.name for each in (*OPERATIONS, *plugin_operations()) if each.slow}
    assert slow >= {"evals run", "runs replay", "audit export", "audit verify"}
