"""Servers while the gateway stops."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path

from nanobot.errors import NanobotError
from nanobot.plugins.common.runs.run_input import RunInput
from nanobot.plugins.common.runs.run_service import RunService
from tests.plugins.mcp.test_pictures import World, world

ADDS = 'wait:2\ntool:mcp__it__add:{"a": 20, "b": 22}\nsay:done'


async def asked(it: World) -> None:
    request = RunInput(messages=[{"role": "user", "content": ADDS}])
    with suppress(NanobotError):  # the stream ends with the gateway, the run before it
        async for _ in it.parts.plugged.offers.get(RunService).stream(request):
            pass


async def test_a_run_that_ends_while_the_gateway_stops_still_reaches_its_server(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as it:
        asking = asyncio.create_task(asked(it))
        async with asyncio.timeout(60):
            while not it.model.requests:  # noqa: ASYNC110 - nothing tells a test of it
                await asyncio.sleep(0.02)
    await asking
    sent = json.dumps(it.model.requests[-1]["messages"])
    assert "is not connected" not in sent
    assert "42" in sent
