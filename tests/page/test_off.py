"""What owners see in the place of a view whose plugin is off."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.page.conftest import opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

OFF = '[plugins]\noff = ["runs"]\n'


async def test_runs_and_the_outbox_name_their_plugin_and_how_it_is_switched_on(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, web=OFF) as house, house.looking("runs") as page:
        for place in ("runs", "runs/01m80aj3rq", "channels"):
            await page.goto(f"{house.url}/#/{place}")
            await expect(page.get_by_text("This belongs to the plugin runs.")).to_be_visible()
            await expect(page.get_by_text("nanobot plugins on runs")).to_be_visible()
        await expect(page.get_by_role("heading", name="Connected chats")).to_be_visible()
        assert house.complaints == []


async def test_the_state_of_the_chats_names_its_plugin(tmp_path: Path) -> None:
    off = '[plugins]\noff = ["top", "context"]\n'
    async with opened(tmp_path, web=off) as house, house.looking("channels") as page:
        await expect(page.get_by_text("This belongs to the plugin top.")).to_be_visible()
        await expect(page.get_by_role("heading", name="Outbox")).to_be_visible()
        await page.goto(f"{house.url}/#/settings/skills")
        await expect(page.get_by_text("This belongs to the plugin context.")).to_be_visible()
        assert house.complaints == []


async def test_settings_name_their_plugin_and_the_rest_is_there(tmp_path: Path) -> None:
    off = '[plugins]\noff = ["configuration"]\n'
    async with opened(tmp_path, web=off) as house, house.looking("settings/keys") as page:
        for part in ("keys", "model"):
            await page.goto(f"{house.url}/#/settings/{part}")
            await expect(page.get_by_text("nanobot plugins on configuration")).to_be_visible()
        await page.goto(f"{house.url}/#/settings/skills")
        await expect(page.get_by_role("heading", name="Tools")).to_be_visible()
        await page.goto(f"{house.url}/#/settings/start")
        await expect(page.get_by_role("heading", name="Settings")).to_be_visible()
        await expect(page.get_by_role("button", name="First steps")).to_have_count(0)
        assert house.complaints == []


async def test_in_the_place_of_the_list_its_plugin_is_named_and_one_can_talk(
    tmp_path: Path,
) -> None:
    off = '[plugins]\noff = ["conversations"]\n'
    async with opened(tmp_path, web=off) as house, house.looking("chat") as page:
        await expect(page.get_by_text("This belongs to the plugin conversations.")).to_be_visible()
        await expect(page.get_by_text("nanobot plugins on conversations")).to_be_visible()
        await page.get_by_role("button", name="New conversation").click()
        for text in ("say:good morning", "/status"):
            await page.get_by_role("textbox", name="Message").fill(text)
            await page.keyboard.press("Enter")
        await expect(page.get_by_text("good morning", exact=True)).to_be_visible()
        await expect(page.get_by_text("Model:")).to_be_visible()
        assert house.complaints == []
