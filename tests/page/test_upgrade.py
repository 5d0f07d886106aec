"""A page that stays open while the gateway behind it is exchanged for another version."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect

from tests.page.conftest import House
from tests.process.harness import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOADED = "performance.getEntriesByType('resource').map((each) => each.name).join(' ')"
RENEWED = "nanobot was renewed"
OTHER = """
import nanobot
nanobot.__version__ = "99.0.0"
from nanobot.cli import main
main()
"""


@asynccontextmanager
async def other_version(world: World) -> AsyncIterator[None]:
    """A gateway of another version over the same home, once it is ready."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", OTHER, "gateway"),
        env=world.environ(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            assert b"ready" in await process.stdout.readline()
        yield
    finally:
        process.terminate()
        await process.communicate()


async def test_a_page_of_the_version_before_says_so_and_mixes_nothing(own_house: House) -> None:
    house, world = own_house, own_house.world
    async with house.looking("chat/web:kept") as page:
        await page.get_by_label("Message", exact=True).fill("half a sentence")
        assert await world.processes_started[0].stop() == 0
        world.configure(more=f"[web]\nport = {urlsplit(house.url).port}")
        async with other_version(world):
            await expect(page.get_by_text(RENEWED)).to_be_visible(timeout=60_000)
            await page.goto(f"{house.url}/#/usage")
            await expect(page.get_by_role("main").get_by_text(RENEWED)).to_be_visible()
            await page.goto(f"{house.url}/#/chat/web:kept")
            await page.get_by_role("button", name="Reload").first.click()
            message = page.get_by_label("Message", exact=True)
            await expect(message).to_have_value("half a sentence")
            await expect(page.get_by_text(RENEWED)).to_have_count(0)
            await page.goto(f"{house.url}/#/usage")
            await expect(page.get_by_role("heading", name="Usage")).to_be_visible()
            urls = await page.evaluate(
                "performance.getEntriesByType('resource').map((e) => e.name)"
            )
            sets = re.findall(r"/page/(\w+)/", " ".join(urls))
            assert len(sets) > 20
            assert len(set(sets)) == 1
    house.complaints.clear()  # browsers note each request that nobody answered
