"""A mark below an answer and in its run, and an answer that was not given."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.doubles.openai_server import Answer, Body
from tests.page.conftest import House, opened
from tests.page.test_page import say

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)
MARK = 'The answer says "I\'ve sent the email to Claire." (sent), but no call of this run could'
CLAIMS = "[claims]\nask_again = true\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """One whose model is asked again."""
    async with opened(tmp_path_factory.mktemp("page"), web=CLAIMS) as house_opened:
        yield house_opened


async def test_a_mark_is_shown_below_the_answer_after_a_reload_and_in_the_run(house: House) -> None:
    house.world.model.script = lambda _: Answer("I've sent the email to Claire.")
    async with house.looking("chat/web:insists", size=(390, 800)) as page:
        await say(page, "Write to Claire")
        mark = page.locator(".message.answer .remark")
        await expect(mark).to_contain_text(MARK)
        await expect(page.get_by_text("An answer that was not given")).to_have_count(1)
        await page.reload()
        await expect(mark).to_have_count(1)
        if folder := os.environ.get("PICTURES"):
            await page.screenshot(path=f"{folder}/mark.png")
        wide = "document.documentElement.scrollWidth <= window.innerWidth"
        assert await page.evaluate(wide)
        await page.get_by_role("link", name="Show the run").last.click()
        await expect(page.locator(".view > .remark")).to_contain_text(MARK)
        if folder := os.environ.get("PICTURES"):
            await page.screenshot(path=f"{folder}/run.png")


async def test_an_answer_that_was_corrected_is_shown_alone_with_the_first_one_folded(
    house: House,
) -> None:
    def script(body: Body) -> Answer:
        told = any("no call of this run" in str(each["content"]) for each in body["messages"])
        return Answer("I cannot send e-mail." if told else "I've sent the email to Claire.")

    house.world.model.script = script
    async with house.looking("chat/web:corrects") as page:
        await say(page, "Write to Claire")
        answer = page.get_by_label("Answer", exact=True)
        await expect(answer).to_have_count(1)
        await expect(answer).to_contain_text("I cannot send e-mail.")
        await expect(page.locator(".remark")).to_have_count(0)
        folded = page.get_by_text("An answer that was not given")
        await expect(folded).to_be_visible()
        await folded.click()
        await expect(page.get_by_text("I've sent the email to Claire.").first).to_be_visible()
        await expect(page.get_by_text("The model was asked again")).to_be_visible()
