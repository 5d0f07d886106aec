"""What happens now, and diagnostics, as owners and members see them in a browser."""

from __future__ import annotations

import asyncio
import io
import re
import tarfile
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import Page, Request, expect

from tests.page.conftest import House
from tests.sampling import few

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)
HIDDEN = "Object.defineProperty(document, 'hidden', { get: () => window.away === true })"


async def long_answer(house: House, chat: str) -> None:
    """An answer that takes long begins in a conversation of the page."""
    async with house.looking(f"chat/web:{chat}") as page:
        await page.get_by_label("Message", exact=True).fill("pace:0.5\nsay:" + "and so on " * 200)
        await page.keyboard.press("Enter")
        await page.locator(".growing").wait_for()


def asked(page: Page) -> list[str]:
    """The requests for what happens now, from here on."""
    found: list[str] = []

    def note(request: Request) -> None:
        if "/api/runs/now" in request.url:
            found.append(request.url)

    page.on("request", note)
    return found


@pytest.mark.parametrize(
    ("width", "scheme"),
    few([(w, s) for s in ("dark", "light") for w in (390, 800, 1280)], 1),
)
async def test_now_fits_every_screen_and_shuts_nobody_out(
    house: House, width: int, scheme: Literal["light", "dark"]
) -> None:
    await long_answer(house, f"now{width}{scheme}")
    async with house.looking("runs/now", size=(width, 800), scheme=scheme) as page:
        live = page.get_by_role("region", name="Live runs")
        await expect(live.get_by_role("row").nth(1)).to_contain_text("Model: scripted")
        await expect(page.locator(".tile")).to_have_count(7)
        await expect(page.get_by_role("list", name="Channels")).to_contain_text("telegram")
        wide = await page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= width
        results = await Axe().run(page)
        assert results.violations_count == 0, results.generate_report()


async def test_a_live_run_leads_to_its_waterfall(house: House) -> None:
    await long_answer(house, "nowlink")
    async with house.looking("runs") as page:
        await page.get_by_role("button", name="Now", exact=True).click()
        await page.get_by_role("region", name="Live runs").get_by_role("link").first.click()
        await expect(page.locator(".waterfall")).to_be_visible()


async def test_now_renews_itself_only_while_somebody_looks(house: House) -> None:
    async with house.looking() as page:
        await page.add_init_script(HIDDEN)
        requests = asked(page)
        await page.goto(f"{house.url}/#/runs/now")
        await page.reload()
        await expect(page.locator(".tile")).to_have_count(7)
        before = len(requests)
        async with asyncio.timeout(45):
            while len(requests) < before + 2:  # noqa: ASYNC110 - it renews itself every two seconds
                await asyncio.sleep(0.1)
        await page.evaluate("window.away = true")
        await asyncio.sleep(1)
        before = len(requests)
        await asyncio.sleep(5)
        assert len(requests) == before


async def test_now_speaks_chinese(house: House) -> None:
    async with house.looking("runs/now") as page:
        await page.get_by_label("Language").select_option("zh")
        await expect(page.get_by_role("main")).to_contain_text("每分钟 token 数")
        await expect(page.get_by_role("button", name="此刻")).to_be_visible()


async def test_diagnostics_are_read_before_they_are_downloaded(house: House) -> None:
    async with house.looking("settings/health") as page:
        await expect(
            page.get_by_role("navigation").get_by_role("link", name="Diagnostics")
        ).to_have_count(0)
        await page.get_by_role("button", name="Diagnostics").click()
        await page.locator("[data-file='README.txt']").wait_for()
        await page.locator("[data-file='configuration.txt'] summary").click()
        shown = page.locator("[data-file='configuration.txt'] pre")
        await expect(shown).to_contain_text("agent.max_history = 200")
        text = await shown.text_content()
        async with page.expect_download() as download:
            await page.get_by_role("button", name="Download").click()
        saved = await download.value
        assert re.fullmatch(r"nanobot-diagnostics-\d{8}-\d{6}\.tar\.gz", saved.suggested_filename)
        assert configuration_in(Path(await saved.path())) == text
        results = await Axe().run(page)
        assert results.violations_count == 0, results.generate_report()


def configuration_in(file: Path) -> str:
    with tarfile.open(fileobj=io.BytesIO(file.read_bytes())) as archive:
        member = next(each for each in archive if each.name.endswith("/configuration.txt"))
        content = archive.extractfile(member)
        assert content is not None
        return content.read().decode()


async def test_diagnostics_fit_a_phone_in_the_dark(house: House) -> None:
    async with house.looking("diagnostics-main", size=(390, 800), scheme="dark") as page:
        await page.locator("[data-file='log.txt'] summary").click()
        wide = await page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= 390
        results = await Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
