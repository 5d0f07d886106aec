"""A gateway that nobody can write to says what to do about it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tests.cli.running import environ_of, launched
from tests.process.harness import reader_of


async def test_a_gateway_with_no_channel_says_what_to_do(tmp_path: Path) -> None:
    complaints, complaining = os.pipe()
    process = await launched(environ_of(tmp_path / "home"), ["gateway"], tmp_path, complaining)
    os.close(complaining)
    try:
        async with asyncio.timeout(30):
            line = await (await reader_of(complaints)).readline()
            await process.ready()
    finally:
        await process.kill()
    assert b"no channel is configured" in line
    assert b"`nanobot onboard` connects a channel" in line
