"""Rows that cannot be read, on the page: each list names its own, and a button puts them back."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from playwright.async_api import expect

from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.store.database import schema
from tests.page.conftest import House
from tests.page.test_files import OURS, PLUGINS

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)

PLACES = {
    "sessions list": "chat",
    "approvals list": "chat/web:desk",
    "runs list": "runs",
    "usage": "usage",
    "memory list": "memory",
    "cron list": "schedule",
    "cron history": "schedule/1",
    "pair list": "channels",
    "outbox list": "channels",
    "policy rules": "settings/policy",
    "web tokens list": "settings/access",
    "mcp list": "settings/skills",
}
"""Where the page has these lists."""
EVERY = (*OPERATIONS, *plugin_operations())
SHOWS = {operation.name: operation.shows for operation in EVERY if operation.shows}


async def test_each_list_of_a_view_names_its_unreadable_rows() -> None:
    files = [
        *(file for file in OURS if "views" in file.parts),
        *(file for each in PLUGINS.values() for file in each),
    ]
    views = "".join(file.read_text("utf-8") for file in files)
    asked = set(re.findall(r'\bread\(\s*"([a-z -]+)"', views))
    named = set(re.findall(r'<\$\{Unreadable\} of="([a-z ]+)"', views))
    assert named == PLACES.keys() == (asked & SHOWS.keys()) - {"sessions export"}  # a file


def plant(home: Path) -> None:
    """A row of each table is in quarantine, and one job is there to be looked at."""
    with closing(sqlite3.connect(home / "state.db")) as database, database:
        database.executemany(
            "INSERT INTO quarantine"
            " (of_table, row_key, session_key, of_column, reason, content, state, told, at)"
            " VALUES (?, ?, '', 'a column', 'it is not UTF-8', CAST('[]' AS BLOB), 'moved', 1, 1)",
            [(table, f"the row of {table}") for table in schema.metadata().tables],
        )


async def test_each_list_on_the_page_names_them(own_house: House) -> None:
    ended = await own_house.world.run("cron", "add", "every day at 9 Look")
    assert ended.code == 0, ended.errors
    plant(own_house.world.home)
    async with own_house.looking() as page:
        for name, place in PLACES.items():
            await page.goto(f"{own_house.url}/#/{place}")
            for table in SHOWS[name]:
                row = page.get_by_text(f"{table} the row of {table}")
                await expect(row.first).to_be_visible()
        await page.goto(f"{own_house.url}/#/settings/health")
        shown = page.locator("section", has=page.get_by_text("Rows that could not be read"))
        await expect(shown.get_by_role("listitem")).to_have_count(len(schema.metadata().tables))


async def test_a_row_is_repaired_and_put_back_with_a_button(own_house: House) -> None:
    world = own_house.world
    world.telegram.say(1, "say:kept")
    await world.answered(1, 1)
    with closing(sqlite3.connect(world.home / "state.db")) as database, database:
        database.execute("UPDATE runs SET origin = CAST(x'6bff' AS TEXT)")
    async with own_house.looking("runs") as page:
        await expect(page.get_by_text("Rows that could not be read: 1")).to_be_visible()
        await page.get_by_role("link", name="Show or put back").click()
        await page.get_by_role("button", name="Show or put back").click()
        await expect(page.get_by_role("dialog")).to_contain_text("k\\xff")
        await page.get_by_role("button", name="Put it back").click()
        await expect(page.get_by_text("still cannot be read: origin")).to_be_visible()
        await page.get_by_label("Value of origin").fill("user")
        await page.get_by_role("button", name="Put it back").click()
        await expect(page.get_by_text("Every row can be read.")).to_be_visible()
        await page.goto(f"{own_house.url}/#/runs")
        await expect(page.locator("main table tbody tr")).to_have_count(1)
        await expect(page.get_by_text("could not be read")).to_have_count(0)
    assert len(own_house.complaints) == 1  # the browser's own word for the refusal
    own_house.complaints.clear()
