"""Years of use in the browser: a conversation of 100,000 entries, and 5,000 conversations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import sqlalchemy as sa
from playwright.async_api import Page, Route, expect

from benchmarks.filled import filled
from benchmarks.filled_rows import Size
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.session.chain import GENESIS
from nanobot.store.database import schema
from nanobot.store.opening import contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock
from tests.page.conftest import House, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)

LONG = Size(messages=34_000, chats=1, jobs=1, memories=1)
OTHERS = 5_000
NODES = 12_000
"""Elements that the page may have, however much there is."""
COUNT = "document.getElementsByTagName('*').length"


def _others(connection: sa.Connection) -> None:
    """Conversations of long ago, the last of them the oldest."""
    rows = [
        {
            "key": f"slack:talk{number}",
            "title": f"Talk {number:04} of the garden",
            "created_at": 1_000.0,
            "updated_at": 100_000.0 - number,
            "last_read_at": 200_000.0,
            "head_hash": GENESIS,
        }
        for number in range(OTHERS)
    ]
    connection.execute(sa.insert(schema.sessions), rows)


async def _fill(home: Path) -> None:
    context = contexts(SystemClock(), RandomIds(), store_hooks())
    store = open_store(home, "", context, command="a test", crash="")
    try:
        await asyncio.to_thread(filled, store.guard.inner, LONG)  # type: ignore[arg-type]
        await store.database.transact(_others)
    finally:
        await store.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with opened(tmp_path_factory.mktemp("large"), _fill) as house_opened:
        yield house_opened


async def small(page: Page) -> None:
    assert await page.evaluate(COUNT) < NODES


async def test_five_thousand_conversations_are_scrolled_to_the_last_and_searched(
    house: House,
) -> None:
    async with house.looking("chat") as page:
        rows = page.locator(".conversations li")
        await expect(rows.first).to_be_visible()
        await page.get_by_label("Search conversations").fill("talk 4321")
        await expect(rows).to_have_count(1)
        await page.get_by_label("Search conversations").fill("")
        await expect(page.get_by_text("Talk 0000")).to_be_visible()
        scroller = page.locator(".conversations .rows")
        last = page.get_by_text(f"Talk {OTHERS - 1}", exact=False)
        async with asyncio.timeout(100):
            while not await last.count():
                await scroller.evaluate("list => { list.scrollTop = list.scrollHeight; }")
                assert await rows.count() < 60
        await small(page)
        await scroller.evaluate("list => { list.scrollTop = 0; }")
        await expect(page.get_by_text("Talk 0000")).to_be_visible()
        assert await rows.count() < 60


async def test_a_hundred_thousand_entries_are_read_to_the_beginning_and_back(house: House) -> None:
    end, begin = LONG.messages - 1, 0
    async with house.looking("chat/telegram:0") as page:
        log = page.get_by_role("log")
        own_messages = log.locator(".message.person")
        await expect(own_messages.last).to_contain_text(f"something. {end}")
        for _ in range(12):  # further up than is held at once
            above = await own_messages.first.text_content()
            await log.evaluate("scroller => { scroller.scrollTop = 0; }")
            await expect(own_messages.first).not_to_have_text(above or "")
            await small(page)
        await expect(page.get_by_role("button", name="To the latest")).to_be_visible()
        await expect(log.get_by_text(f"something. {end}")).to_have_count(0)
        await page.get_by_role("button", name="To the beginning").click()
        await expect(own_messages.first).to_contain_text(f"something. {begin}")
        await expect(page.get_by_role("button", name="To the beginning")).to_have_count(0)
        for _ in range(8):
            below = await own_messages.last.text_content()
            await log.evaluate("scroller => { scroller.scrollTop = scroller.scrollHeight; }")
            await expect(own_messages.last).not_to_have_text(below or "")
            await small(page)
        await page.get_by_role("button", name="To the latest").click()
        await expect(own_messages.last).to_contain_text(f"something. {end}")
        await expect(page.get_by_role("button", name="To the latest")).to_have_count(0)
        await log.focus()
        await page.keyboard.press("Control+Home")
        await expect(own_messages.first).to_contain_text(f"something. {begin}")
        await page.keyboard.press("Control+End")
        await expect(own_messages.last).to_contain_text(f"something. {end}")


async def test_the_way_to_the_beginning_is_not_moved_away_by_what_comes_above(house: House) -> None:
    async with house.looking("chat/telegram:0") as page:
        log = page.get_by_role("log")
        own_messages = log.locator(".message.person")
        await expect(own_messages.last).to_contain_text(f"something. {LONG.messages - 1}")
        held = asyncio.Event()

        async def late(route: Route) -> None:
            await held.wait()
            await route.continue_()

        await page.route("**/entries?before=*", late)
        above = await own_messages.first.text_content()
        async with page.expect_request("**/entries?before=*"):
            await log.evaluate("scroller => { scroller.scrollTop = 0; }")
        button = page.get_by_role("button", name="To the beginning")
        await button.hover()
        await page.mouse.down()
        held.set()
        await expect(own_messages.first).not_to_have_text(above or "")
        await page.mouse.up()
        await expect(own_messages.first).to_contain_text("something. 0")


async def test_what_is_read_stays_in_its_place_while_more_comes_above_it(house: House) -> None:
    place = "node => Math.round(node.getBoundingClientRect().top)"
    async with house.looking("chat/telegram:0") as page:
        log = page.get_by_role("log")
        own_messages = log.locator(".message.person")
        await expect(own_messages.last).to_contain_text(f"something. {LONG.messages - 1}")
        await log.evaluate("scroller => { scroller.scrollTop = 900; }")
        first = await own_messages.first.text_content()
        read = await own_messages.nth(6).element_handle()
        assert read is not None
        before = await read.evaluate(place)
        await log.evaluate("scroller => { scroller.scrollTop -= 200; }")
        await expect(own_messages.first).not_to_have_text(first or "")
        assert abs(await read.evaluate(place) - before - 200) <= 2
