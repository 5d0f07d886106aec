"""The page where the memory is switched off."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.page.conftest import opened

pytestmark = [pytest.mark.process, pytest.mark.asyncio]


async def test_the_files_of_prompts_stay_where_the_memory_is_switched_off(tmp_path: Path) -> None:
    off = '[plugins]\noff = ["memory"]\n'
    async with opened(tmp_path, web=off) as house, house.looking("memory") as page:
        await expect(page.get_by_role("button", name="USER.md")).to_be_visible()
        await expect(page.get_by_role("button", name="Workspace")).to_be_visible()
        await expect(page.get_by_role("button", name="Memories")).to_have_count(0)
        assert house.complaints == []
