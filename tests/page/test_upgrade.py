"""A page that stays open while the gateway behind it starts again, or is another version."""

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
SAME = "from nanobot.cli import main; main()"
OTHER = f"import nanobot; nanobot.__version__ = '99.0.0'; {SAME}"


@asynccontextmanager
async def started(world: World, code: str = SAME) -> AsyncIterator[None]:
    """A gateway over the same home that can start itself again, once it is ready."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, "gateway"),
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
        async with started(world, OTHER):
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


async def test_the_first_steps_are_done_left_and_taken_up(own_house: House) -> None:
    house, world = own_house, own_house.world
    assert await world.processes_started[0].stop() == 0
    world.configure(more=f"[web]\nport = {urlsplit(house.url).port}")
    async with started(world), house.looking("settings/start:model") as page:
        await expect(page.get_by_text("Not running: ")).to_be_visible()
        await page.get_by_label("Provider").select_option("Another server, by its address")
        await page.get_by_label("Model", exact=True).fill("scripted")
        await page.get_by_role("textbox", name="Address").fill("http://127.0.0.1:9/v1")
        await page.get_by_role("button", name="Try it, and keep it").click()
        await expect(page.locator(".notice.bad")).to_be_visible()
        await page.get_by_role("textbox", name="Address").fill(house.world.model.base_url)
        await page.locator("input[type=password]").fill("none")
        await page.get_by_role("button", name="Try it, and keep it").click()
        await expect(page.get_by_text("custom/scripted answered after")).to_be_visible()
        await page.get_by_role("button", name="Telegram").click()
        await expect(page.get_by_role("button", name="Change telegram")).to_be_visible()
        await page.get_by_role("button", name="Add another one").click()
        await expect(page.get_by_label("Name")).to_have_value("telegram2")
        await expect(page.get_by_text("Write something to it on Telegram")).to_be_visible()
        await expect(page.get_by_role("button", name="See who writes")).to_be_disabled()
        await page.get_by_role("button", name="Leave it for later").click()
        about = page.get_by_label("USER.md")
        await about.fill("# The people here\n\n- Name, and how to be addressed: Ann\n")
        await page.get_by_role("button", name="Save").click()
        await page.get_by_role("radio", name="coach").check()
        await page.get_by_role("button", name="Let it talk so").click()
        # The model and the persona are in effect; the time zone is not yet.
        hello = page.get_by_role("button", name="Start again, and say hello")
        await expect(hello).to_be_visible()
        await page.goto(f"{house.url}/#/settings/start")
        done = page.locator(".step.done")
        await expect(done).to_have_count(4)
        await expect(page.locator(".step[aria-current] h2")).to_have_text("Say hello")
        await hello.click()
        message = page.get_by_label("Message", exact=True)
        await expect(message).to_have_value(re.compile("Hello"), timeout=60_000)
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Answer", exact=True)).to_have_count(1)
        await page.goto(f"{house.url}/#/settings/start")
        await expect(page.locator(".step.done")).to_have_count(5)
    house.complaints.clear()  # browsers note what was refused, and who was away
