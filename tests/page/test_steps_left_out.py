"""First steps and Memory on the page of a gateway that cannot show files of the prompt or
personas."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.page.conftest import opened

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)

OFF = '[plugins]\noff = ["prompt_files", "setup"]\n'


async def test_what_is_off_is_left_out_and_the_rest_can_be_done(tmp_path: Path) -> None:
    async with opened(tmp_path, web=OFF) as house:
        async with house.looking("settings/start") as page:
            await expect(page.get_by_role("heading", name="Say hello")).to_be_visible()
            for gone in ("Say who you are", "How it talks", "Choose a model", "Connect a chat"):
                await expect(page.get_by_role("heading", name=gone)).to_have_count(0)
        async with house.looking("memory/USER.md") as page:
            await expect(page.get_by_role("heading", name="Memory", exact=True)).to_be_visible()
            await expect(page.get_by_role("button", name="Files")).to_have_count(0)
        assert house.complaints == []
