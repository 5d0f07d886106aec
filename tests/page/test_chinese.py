"""The page in Chinese: what the gateway says in it is Chinese too."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, expect

from tests.page.conftest import House

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)

_ENGLISH = re.compile(r"\b[A-Za-z][a-z]{2,}(?: [a-z']{2,}){2,}\b")
"""Three words in a row."""
_NAMES = ("nanobot service install",)
"""Commands."""


@asynccontextmanager
async def in_chinese(house: House, place: str) -> AsyncIterator[Page]:
    """The page at a place, in Chinese."""
    async with house.looking() as page:
        await page.evaluate("() => localStorage.setItem('language', 'zh')")
        await page.goto(f"{house.url}/#/{place}")
        await page.reload()
        await expect(page.locator("html")).to_have_attribute("lang", "zh")
        yield page


def english(text: str) -> list[str]:
    """Runs of English words in a text that is shown."""
    return [found for found in _ENGLISH.findall(text) if found not in _NAMES]


async def test_what_doctor_finds_is_told_in_chinese(house: House) -> None:
    async with in_chinese(house, "settings") as page:
        findings = page.locator(".findings li")
        await expect(findings.filter(has_text="时钟")).to_contain_text("时区")
        assert english(await page.locator(".findings").inner_text()) == []


async def test_a_change_of_language_asks_the_gateway_again(house: House) -> None:
    async with house.looking("settings") as page:
        clock = page.locator(".findings li").filter(has_text=re.compile("clock|时钟"))
        await expect(clock).to_contain_text("time zone")
        await page.get_by_label("Language").select_option("zh")
        await expect(clock).to_contain_text("时区")


async def test_all_settings_are_told_in_chinese(house: House) -> None:
    async with in_chinese(house, "settings/keys") as page:
        keys = page.locator(".keylist li")
        await expect(keys.filter(has_text="agent.name")).to_contain_text("助手的自称")
        await expect(keys.filter(has_text="evals.nightly")).to_contain_text(
            "每天运行全部用例的时间"
        )
        interval = keys.filter(has_text="heartbeat.interval_seconds")
        await expect(interval).to_contain_text("秒")
        told = await keys.locator("label > span").all_inner_texts()
        assert [text for text in told if english(text)] == []


async def test_the_views_of_plugins_are_in_chinese_and_have_their_styles(house: House) -> None:
    async with in_chinese(house, "evals-main") as page:
        await expect(page.get_by_role("main")).to_contain_text("回答的回归测试。")
        await expect(page.get_by_role("navigation").first).to_contain_text("评测")
        await page.goto(f"{house.url}/#/settings/skills")
        await expect(page.get_by_role("heading", name="MCP 服务器")).to_be_visible()
        await page.goto(f"{house.url}/#/schedule")
        await expect(page.get_by_role("heading", name="日程")).to_be_visible()
        rules = "[...document.styleSheets].find((sheet) => sheet.href?.endsWith('/schedule.css'))"
        assert await page.evaluate(f"{rules}.cssRules.length") > 5


async def test_a_refused_action_is_told_in_chinese(house: House) -> None:
    async with in_chinese(house, "runs/none") as page:
        told = page.get_by_role("main")
        await expect(told).to_contain_text("没有运行 none")
        assert english(await told.inner_text()) == []
    house.complaints.clear()  # browsers note each 404


async def test_a_step_of_set_up_and_its_error_are_in_chinese(house: House) -> None:
    async with in_chinese(house, "settings/start:chat") as page:
        main = page.get_by_role("main")
        await (
            main.get_by_role("button", name="Discord")
            .or_(main.get_by_role("radio", name="Discord"))
            .first.click()
        )
        await expect(main).to_contain_text("选择 New Application")
        assert english(await main.inner_text()) == []


async def test_answers_to_commands_are_in_the_language_of_the_page_also_later(house: House) -> None:
    async with in_chinese(house, "chat/web:chinese") as page:
        await page.locator(".composer textarea").fill("/status")
        await page.keyboard.press("Enter")
        main = page.get_by_role("main")
        await expect(main).to_contain_text("会话：web:chinese")
        await page.reload()
        await expect(main).to_contain_text("会话：web:chinese")
        await page.evaluate("() => localStorage.setItem('language', 'en')")
        await page.reload()
        await expect(main).to_contain_text("Session: web:chinese")
