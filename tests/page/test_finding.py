"""Finding a conversation again on the page: by what was said, by its title, pinned or archived."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.page.conftest import House, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)

NEEDLE = "The lighthouse of Texel is closed on Mondays."


async def conversation(house: House, name: str, *texts: str) -> None:
    """A conversation of the page with these messages."""
    for text in texts:
        ended = await house.world.run("send", text, "--session", f"web:{name}")
        assert ended.code == 0, ended.errors


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """With a conversation in which something can be found."""
    filler = [f"say:Filler number {number}." for number in range(14)]
    async with opened(tmp_path_factory.mktemp("finding")) as there:
        await conversation(
            there, "north", "say:Hello. This is the North Sea.", f"say:{NEEDLE}", *filler
        )
        yield there


async def test_a_sentence_is_found_in_the_list_and_opens_its_conversation_there(
    house: House,
) -> None:
    async with house.looking() as page:
        search = page.get_by_role("searchbox", name="Search conversations")
        await search.fill("lighthouse")
        row = page.locator(".conversations li", has_text="lighthouse")
        await expect(row.locator("em")).to_contain_text("lighthouse of Texel", timeout=20_000)
        await row.get_by_role("link").click()
        here = page.get_by_text("Found here")
        await expect(here).to_be_in_viewport()
        await expect(page.get_by_text(NEEDLE).last).to_be_in_viewport()


@pytest.mark.parametrize("width", [390, 1280])
async def test_ctrl_k_finds_sentences_and_opens_the_message(house: House, width: int) -> None:
    async with house.looking("chat/web:elsewhere", size=(width, 844)) as page:
        await page.keyboard.press("Control+k")
        await page.get_by_role("combobox", name="Go to").fill("texel mondays")
        option = page.get_by_role("option", name=re.compile("lighthouse of"))
        await expect(option.first).to_be_visible(timeout=20_000)
        await option.first.click()
        await expect(page.get_by_text("Found here")).to_be_in_viewport()
        assert await page.evaluate("decodeURIComponent(location.hash)") == "#/chat/web:north"


@pytest.mark.parametrize("width", [390, 1280])
async def test_a_conversation_is_named_pinned_archived_saved_and_deleted(
    house: House, width: int, tmp_path: Path
) -> None:
    await conversation(house, f"old{width}", "say:The older one.")
    await conversation(house, f"new{width}", "say:The newer one.")
    async with house.looking(size=(width, 844)) as page:
        names = page.locator(".conversations .name")

        async def manage(name: str, button: str) -> None:
            row = page.locator(".conversations li", has_text=name)
            await row.hover()
            await row.get_by_role("button", name=re.compile("^Manage")).click()
            await page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()

        row = page.locator(".conversations li", has_text="The older one.").first
        await row.hover()
        await row.get_by_role("button", name=re.compile("^Manage")).click()
        await page.get_by_role("dialog").get_by_label("Title").fill(f"Kept {width}")
        await page.keyboard.press("Enter")
        await expect(names.filter(has_text=f"Kept {width}")).to_be_visible()
        await manage(f"Kept {width}", "Pin to the top")
        await expect(names.first).to_contain_text(f"Kept {width}")
        await expect(page.get_by_role("img", name="Pinned").first).to_be_visible()
        async with page.expect_download() as download:
            await manage(f"Kept {width}", "Export as JSON")
        saved = tmp_path / "saved.json"
        await (await download.value).save_as(saved)
        assert json.loads(saved.read_text("utf-8"))["session"]["key"] == f"web:old{width}"
        await page.keyboard.press("Escape")
        await manage(f"Kept {width}", "Archive")
        await expect(names.filter(has_text=f"Kept {width}")).to_have_count(0)
        await page.get_by_role("button", name="Archived").click()
        await expect(names.filter(has_text=f"Kept {width}")).to_be_visible()
        await conversation(house, f"old{width}", "say:Something new.")
        await page.get_by_role("button", name="All", exact=True).click()
        await expect(names.first).to_contain_text(f"Kept {width}", timeout=20_000)


@pytest.mark.parametrize("width", [390, 1280])
async def test_an_open_conversation_is_renamed_and_deleted(house: House, width: int) -> None:
    key = f"web:gone{width}"
    await conversation(house, f"gone{width}", f"say:The last one of {width}.")
    async with house.looking(f"chat/{key}", size=(width, 844)) as page:
        head, dialog = page.locator(".threadhead"), page.get_by_role("dialog")
        names, heading = page.locator(".conversations .name"), head.locator("> div > h2")
        await head.get_by_role("button", name=re.compile("^Manage")).click()
        await dialog.get_by_label("Title").fill(f"Done {width}")
        await dialog.get_by_role("button", name="Save title").click()
        await expect(heading).to_have_text(f"Done {width}")
        await head.get_by_role("button", name=re.compile("^Manage")).click()
        await dialog.get_by_role("button", name="Delete").click()
        await dialog.get_by_role("button", name="Delete").click()
        await expect(names.filter(has_text=f"Done {width}")).to_have_count(0)
        rows = json.loads((await house.world.run("sessions", "list", "--json")).output)
        assert key not in {row["key"] for row in rows}


async def test_what_is_not_there_is_not_asked_for_again_whenever_something_changes(
    house: House,
) -> None:
    """The page of a run whose conversation was deleted, while others talk."""
    gone = "01m8cz68k34cgq6n200tpc767v"
    async with house.looking(f"runs/{gone}") as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await expect(page.get_by_role("alert")).to_be_visible()
        asked.clear()
        await conversation(house, "busy", "say:One.", "say:Two.")
        await page.get_by_role("link", name="All runs").click()
        await expect(page.locator("main tbody tr").first).to_be_visible()
        house.complaints = [each for each in house.complaints if gone not in each]
        assert not [url for url in asked if gone in url]
        assert [url for url in asked if "/api/runs/list" in url]
