"""Whoever has only a keyboard: Enter sends what was filled in, and the focus is never lost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import Page, Route, expect

from tests.page.furnishing import Furnished, furnished
from tests.page.test_files import OURS, PLUGINS

browsing = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.process]
FOCUSED = "() => document.activeElement?.textContent.trim() || document.activeElement?.tagName"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Furnished]:
    async with furnished(tmp_path_factory.mktemp("keyboard")) as house:
        yield house


@asynccontextmanager
async def looking(there: Furnished, place: str) -> AsyncIterator[Page]:
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/{place}")
        yield page


def test_each_form_is_sent_with_enter() -> None:
    """One without a button of type "submit" does nothing if it has two fields."""
    forms = 0
    for file in (*OURS, *(file for files in PLUGINS.values() for file in files)):
        text = file.read_text("utf-8")
        for form in re.findall(r"<form\b.*?</form>", text, re.DOTALL):
            forms += 1
            assert 'type="submit"' in form, f"{file.name}: {form[:200]}"
    assert forms > 12


async def _focused(page: Page, wanted: str) -> None:
    await page.wait_for_function(
        f"(wanted) => (({FOCUSED})() ?? '').includes(wanted)", arg=wanted, timeout=5_000
    )


class TestInABrowser:
    pytestmark = browsing

    async def test_enter_saves_a_setting_and_the_focus_stays_in_its_row(
        self, there: Furnished
    ) -> None:
        async with looking(there, "settings/keys") as page:
            await page.get_by_role("searchbox").fill("agent.max_tokens")
            field = page.locator("[id='key:agent.max_tokens']")
            await field.fill("2345")
            await field.press("Enter")
            await expect(page.locator(".notice.good")).to_be_visible()
            await expect(field).to_be_focused()
            await expect(field).to_have_value("2345")
            await field.fill("3456")
            await field.press("Tab")
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("button", name="Save")).to_have_count(0)
            await expect(field).to_be_focused()

    async def test_a_button_at_work_keeps_the_focus_and_acts_once(self, there: Furnished) -> None:
        asked = []
        held = asyncio.Event()

        async def slow(route: Route) -> None:
            asked.append(route.request.url)
            await held.wait()
            await route.continue_()

        async with looking(there, "schedule") as page:
            await page.route("**/api/cron/pause", slow)
            row = page.get_by_role("row").filter(has_text="Morning 1")
            button = row.get_by_role("button", name="Pause")
            await button.focus()
            await page.keyboard.press("Enter")
            await page.keyboard.press("Enter")
            await expect(button).to_have_attribute("aria-busy", "true")
            await expect(button).to_be_focused()
            held.set()
            await expect(row.get_by_role("button", name="Resume")).to_be_focused()
            assert len(asked) == 1

    async def test_after_a_row_is_gone_the_focus_is_in_the_next(self, there: Furnished) -> None:
        async with looking(there, "settings/policy") as page:
            first = page.get_by_role("listitem").filter(has_text="git push").first
            name = await first.locator("code").inner_text()
            await first.get_by_role("button", name="Take it back").focus()
            await page.keyboard.press("Enter")
            await expect(page.get_by_text(name)).to_have_count(0)
            await _focused(page, "Take it back")

    async def test_a_field_that_must_be_filled_in_stops_the_form(self, there: Furnished) -> None:
        """An empty number of days would be a token that does not end."""
        async with looking(there, "settings/access") as page:
            await page.get_by_label("Name").fill("for ever")
            await page.get_by_label("Days").fill("")
            await page.get_by_label("Name").press("Enter")
            await expect(page.get_by_label("Days")).to_be_focused()
            rows = await there.read("web tokens list")
            assert "for ever" not in {row["name"] for row in rows}
            await page.get_by_label("Days").fill("3")
            await page.get_by_label("Name").press("Enter")
            await expect(page.get_by_text("This is shown once:")).to_be_visible()
