"""The page for every eye and hand: languages, colours, phones, and those who see or reach less."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import Page, expect

from tests.page.conftest import BROWSER_OPTIONS, CHROMIUM, House
from tests.page.places import ALL, FURTHER, SETTINGS, VIEWS
from tests.page.pressing import SIDEWAYS
from tests.sampling import few

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)


async def test_it_speaks_chinese_and_remembers_it(house: House) -> None:
    async with house.looking("runs") as page:
        await page.get_by_label("Language").select_option("zh")
        await expect(page.get_by_role("heading", name="运行", exact=True)).to_be_visible()
        await page.reload()
        await expect(page.locator("html")).to_have_attribute("lang", "zh")


async def test_a_phone_has_colours_and_language_in_the_settings(house: House) -> None:
    async with house.looking("settings/appearance", size=(360, 740), scheme="light") as page:
        form = page.get_by_role("main")
        await form.get_by_label("Colours").select_option("dark")
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await form.get_by_label("Language").select_option("zh")
        await expect(page.get_by_role("heading", name="设置", exact=True)).to_be_visible()
        await page.reload()
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await form.get_by_label("颜色").select_option("")
        await expect(page.locator("html")).to_have_attribute("data-theme", "light")


async def test_a_phone_shows_all_buttons_in_one_line_while_an_answer_grows(house: House) -> None:
    async with house.looking("chat/web:phone", size=(390, 844)) as page:
        await page.get_by_label("Message", exact=True).fill("pace:0.3\nsay:" + "and so on " * 80)
        await page.keyboard.press("Enter")
        await expect(page.locator(".composer option", has_text="test/scripted")).to_have_count(1)
        stop = page.get_by_role("button", name=re.compile("Stop"))
        send = page.get_by_role("button", name="Send", exact=True)
        for button in (stop, send):
            await expect(button).to_be_in_viewport(ratio=1)
        stop_box, send_box = await stop.bounding_box(), await send.bounding_box()
        assert stop_box is not None
        assert send_box is not None
        assert (
            stop_box["y"]
            < send_box["y"] + send_box["height"] / 2
            < stop_box["y"] + stop_box["height"]
        )
        await stop.click()
        await expect(page.locator(".growing")).to_have_count(0)


async def opened_at(house: House, page: Page, view: str) -> None:
    """The page is loaded at that view, and has loaded what it shows."""
    await page.goto("about:blank")
    await page.goto(f"{house.url}/#/{view}")
    await page.locator(f"main[data-view={view.split('/')[0]}] > *").first.wait_for()
    await expect(page.locator(".loading")).to_have_count(0)


async def test_a_phone_needs_no_scrolling_sideways(house: House) -> None:
    wide = {}
    async with house.looking(size=(360, 740)) as page:
        for view in ALL:
            await opened_at(house, page, view)
            wide[view] = await page.evaluate("() => document.documentElement.scrollWidth")
    assert {view: width for view, width in wide.items() if width > 360} == {}


async def test_a_phone_with_text_twice_as_large_needs_no_scrolling_sideways(house: House) -> None:
    """As set in the browser: a size in pixels would ignore it."""
    engine = house.browser.browser_type
    large = await engine.launch(
        executable_path=CHROMIUM, args=[*BROWSER_OPTIONS, "--blink-settings=defaultFontSize=32"]
    )
    usual, house.browser = house.browser, large
    wide = []
    try:
        async with house.looking(size=(390, 844)) as page:
            size = "() => parseFloat(getComputedStyle(document.body).fontSize)"
            assert await page.evaluate(size) == 30
            for view in ALL:
                await opened_at(house, page, view)
                wide += [view] * await page.evaluate(SIDEWAYS)
    finally:
        house.browser = usual
        await large.close()
    assert wide == []


@pytest.mark.parametrize("scheme", few(["light", "dark"]))
@pytest.mark.parametrize("views", [VIEWS, SETTINGS, FURTHER])
async def test_nobody_is_shut_out(
    house: House, views: list[str], scheme: Literal["light", "dark"]
) -> None:
    reports = {}
    async with house.looking(scheme=scheme) as page:
        for view in views:
            await opened_at(house, page, view)
            results = await Axe().run(page)
            if results.violations_count:
                reports[view] = results.generate_report()
    assert reports == {}
