"""A plugin of a package brings a view with its styles and its Chinese, looked at in a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from tests.page.conftest import CHROMIUM
from tests.plugins.brought import Site
from tests.plugins.brought import site as site
from tests.server.housing import House, house

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser")
PLUGIN = """
    from pathlib import Path
    from nanobot.seam.faces import PageView
    from nanobot.seam.plugin import Plugin

    FOLDER = Path(FOLDER_OF_ALL)

    PLUGIN = Plugin(
        name="birds",
        summary="Birds.",
        texts=FOLDER,
        page=lambda: [PageView(title="Birds", name="nest", folder=FOLDER / "page")],
    )
"""
FILES = {
    "zh.toml": '"Birds" = "鸟"\n',
    "page/nest.js": """
        import { Head, html, t } from "../../kit.js";
        export default () => html`
          <div class="view">
            <${Head} title=${t("Birds")} />
            <p class="egg">${t("{n} eggs", { n: 3 })}</p>
            <p class="page">${t("Settings")}</p>
          </div>
        `;
    """,
    "page/nest.css": ".egg { letter-spacing: 7px; }\n",
    "page/zh.js": 'export default { "Birds": "鸟", "{n} eggs": "{n} 枚蛋", "Settings": "别的" };\n',
}


def bring(site: Site, folder: Path, **more: str) -> None:
    for name, text in {**FILES, **more}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    site.bring("birds", PLUGIN.replace("FOLDER_OF_ALL", repr(str(folder))))


@asynccontextmanager
async def looking(served: House) -> AsyncIterator[tuple[Page, list[str]]]:
    """Somebody who was let in, and what the browser complains of."""
    complaints: list[str] = []
    owner = await served.owner()
    status, made = await owner.post("/api/web/link")
    assert status == 200
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        page = await browser.new_page(locale="en-US")
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type == "error" else None,
        )
        await page.goto(f"{owner.url}/#login={made['url'].partition('#login=')[2]}")
        yield page, complaints
        await browser.close()


async def test_a_view_has_its_styles_and_speaks_the_language_that_is_chosen(
    site: Site, tmp_path: Path
) -> None:
    bring(site, tmp_path / "birds")
    async with house(tmp_path / "home") as served, looking(served) as (page, complaints):
        await page.get_by_role("link", name="Birds").click()
        egg = page.locator(".egg")
        await expect(egg).to_have_text("3 eggs")
        await expect(egg).to_have_css("letter-spacing", "7px")
        await page.get_by_label("Language").select_option("zh")
        await expect(egg).to_have_text("3 枚蛋")
        await expect(page.get_by_role("link", name="鸟")).to_be_visible()
        await expect(page).to_have_title("鸟 · nanobot")
        # What the page itself says, the plugin does not change.
        await expect(page.locator("p.page")).to_have_text("设置")
        await page.reload()
        await expect(egg).to_have_text("3 枚蛋")
        await expect(egg).to_have_css("letter-spacing", "7px")
        await page.get_by_label("语言").select_option("en")
        await expect(egg).to_have_text("3 eggs")
        await expect(page.get_by_role("link", name="Birds")).to_be_visible()
        assert complaints == []


async def test_a_view_whose_texts_are_broken_is_shown_in_english(
    site: Site, tmp_path: Path
) -> None:
    bring(site, tmp_path / "birds", **{"page/zh.js": "export default {"})
    async with house(tmp_path / "home") as served, looking(served) as (page, _):
        await page.get_by_label("Language").select_option("zh")
        await page.get_by_role("link", name="鸟").click()
        await expect(page.locator(".egg")).to_have_text("3 eggs")
        await expect(page.locator("p.page")).to_have_text("设置")


async def test_parts_that_plugins_add_to_a_view_come_in_their_order(tmp_path: Path) -> None:
    """Of the built-in ones, `mcp` is loaded first."""
    async with house(tmp_path / "home") as served, looking(served) as (page, complaints):
        await page.get_by_role("link", name="Settings").click()
        await page.get_by_text("Skills and servers", exact=True).click()
        for title in ("Skills", "MCP servers"):
            await expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        titles = await page.locator("h2").all_inner_texts()
        assert titles.index("Skills") < titles.index("MCP servers")
        assert complaints == []
