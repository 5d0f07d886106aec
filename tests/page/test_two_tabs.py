"""Two tabs of one browser: what is changed in one is seen in the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.page.furnishing import Furnished, furnished
from tests.page.test_looking import opened_at

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=10_000)

CHANGE = """async ([name, given]) => {
  const app = document.querySelector('script[src$="app.js"]').src;
  const { change } = await import(app.replace('app.js', 'api.js'));
  await change(name, given);
}"""
"""As a button of the page does it."""
ADDED: dict[str, tuple[str, dict[str, Any]]] = {
    "schedule": ("cron add", {"name": "SEEN", "text": "Look", "schedule": "every 2 hours"}),
    "settings/access": ("web tokens add", {"name": "SEEN", "role": "guest"}),
    "memory": ("prompts write", {"name": "MEMORY.md", "text": "- SEEN is here.\n", "digest": ""}),
    "channels": ("notify", {"chat": "telegram:7", "text": "SEEN"}),
    "chat": ("send", {"session": "web:seen", "text": "say:SEEN"}),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Furnished]:
    async with furnished(tmp_path_factory.mktemp("tabs")) as house:
        yield house


@pytest.mark.parametrize("place", ADDED)
async def test_what_is_added_in_one_tab_is_seen_in_the_other(there: Furnished, place: str) -> None:
    name, given = ADDED[place]
    if place == "memory":
        file = await there.read("prompts show", name="MEMORY.md")
        given = {**given, "digest": file["digest"]}
    async with there.somebody("owner", 1280) as context:
        one, other = await context.new_page(), await context.new_page()
        await opened_at(there.house, other, place)
        await opened_at(there.house, one, "settings/appearance")
        await expect(other.locator("main").get_by_text("SEEN")).to_have_count(0)
        await one.evaluate(CHANGE, [name, given])
        await expect(other.locator("main").get_by_text("SEEN").first).to_be_visible()


async def test_a_permission_that_is_taken_back_in_one_tab_goes_in_the_other(
    there: Furnished,
) -> None:
    async with there.somebody("owner", 1280) as context:
        one, other = await context.new_page(), await context.new_page()
        await opened_at(there.house, other, "settings/policy")
        await opened_at(there.house, one, "settings/appearance")
        rules = await there.read("policy rules")
        row = other.get_by_role("listitem").filter(has_text=rules[0]["session_key"])
        await expect(row).to_have_count(1)
        await one.evaluate(CHANGE, ["policy forget", {"id": rules[0]["id"]}])
        await expect(row).to_have_count(0)
