"""The page that shows what the HTTP API is."""

from __future__ import annotations

import pytest
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import expect

from tests.page.conftest import House

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="module")]


async def test_the_api_can_be_read_in_a_browser(house: House) -> None:
    async with house.looking() as page:
        await page.goto(f"{house.url}/docs")
        for method, path, shown in (
            ("POST", "/v1/chat/completions", "text/event-stream"),
            ("GET", "/ws", "Follow | "),
            ("POST", "/api/uploads", "application/octet-stream"),
            ("POST", "/mcp", "JsonRpcAnswer"),
            ("GET", "/healthz", "Nothing has to be shown."),
            ("POST", "/api/send", "token, or cookie and csrf"),
        ):
            summary = (
                page.locator("summary")
                .filter(has=page.locator(f'b:text-is("{method}")'))
                .filter(has=page.locator(f'code:text-is("{path}")'))
            )
            await summary.click()
            details = page.locator("details[open]")
            await expect(details).to_contain_text(shown)
            await summary.click()
        seen = await Axe().run(page)
        assert not seen.response["violations"]
