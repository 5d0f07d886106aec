"""The page as members and guests see it: what they may do is there, and nothing that is refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.page.furnishing import Furnished, furnished
from tests.page.pressing import Traffic

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Furnished]:
    async with furnished(tmp_path_factory.mktemp("roles")) as opened:
        yield opened


async def views(page: Page) -> list[str]:
    links = page.get_by_role("navigation", name="Views").locator("ul a")
    return [(await each.get_attribute("href") or "")[2:] for each in await links.all()]


@pytest.mark.parametrize(
    ("role", "width", "shown"),
    [
        ("member", 1280, ["chat", "runs", "schedule", "memory", "usage", "settings"]),
        ("member", 390, ["chat", "runs", "schedule", "memory", "usage", "settings"]),
        ("guest", 390, ["chat", "settings"]),
    ],
)
async def test_no_view_is_one_of_refusals(
    there: Furnished, role: str, width: int, shown: list[str]
) -> None:
    async with there.somebody(role, width) as context:
        page = await context.new_page()
        traffic = Traffic(page)
        await page.goto(f"{there.house.url}/")
        await page.get_by_role("navigation", name="Views").wait_for()
        assert await views(page) == shown
        for name in (*shown, "channels", f"chat/{await there.own_session(role)}"):
            await page.goto(f"{there.house.url}/#/{name}")
            await traffic.settled(page)
        await page.keyboard.press("Control+k")
        await traffic.settled(page)
        assert (traffic.refused, traffic.faults) == ([], [])


async def foreign(there: Furnished) -> list[str]:
    """Places of an owner, of which somebody may have got a link."""
    run = (await there.read("runs list", session="web:desk", limit=1))[0]["id"]
    job = (await there.read("cron list", limit=1))[0]["id"]
    return ["chat/web:asked", f"runs/{run}", f"schedule/{job}", "memory/USER.md", "settings/keys"]


@pytest.mark.parametrize("role", ["member", "guest"])
async def test_a_place_of_somebody_else_says_so_or_leads_home(there: Furnished, role: str) -> None:
    """It never stays empty, and offers nothing that would be refused."""
    async with there.somebody(role, 390) as context:
        for place in await foreign(there):
            page = await context.new_page()
            traffic = Traffic(page)
            await page.goto(f"{there.house.url}/#/{place}")
            await page.locator("main > *").first.wait_for()
            await traffic.settled(page)
            assert [each for each in traffic.faults if "console" not in each] == [], place
            assert await page.locator("main").inner_text() != "", place
            if place.startswith("chat") and role == "member":
                await expect(page.get_by_text("belongs to another person")).to_be_visible()
                await expect(page.locator(".composer")).to_have_count(0)
                await page.get_by_role("link", name="Open your own").click()
                await expect(page.locator(".composer")).to_be_visible()
            await page.close()


async def test_a_guest_leaves_again(there: Furnished) -> None:
    async with there.somebody("guest", 390) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/settings/access")
        await expect(page.get_by_text("You are a guest, as guest")).to_be_visible()
        await expect(page.get_by_text("Make a token")).to_have_count(0)
        await page.get_by_role("button", name="Log out").click()
        await expect(page.get_by_role("navigation", name="Views")).to_have_count(0)


async def test_somebody_is_let_in_by_name(there: Furnished) -> None:
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/settings/access")
        await page.get_by_label("Name").fill("李雷")
        await page.get_by_role("button", name="Make a link").click()
        url = await page.locator("code.token").inner_text()
    guests = await there.house.browser.new_context(locale="en-US")
    page = await guests.new_page()
    await page.goto(url)
    await page.goto(f"{there.house.url}/#/settings/access")
    await expect(page.get_by_text("You are 李雷, as member")).to_be_visible()
    await guests.close()


async def test_a_guest_lands_in_their_conversation(there: Furnished) -> None:
    async with there.somebody("guest", 390) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/")
        composer = page.locator(".composer textarea")
        await composer.fill("say:hello guest")
        await composer.press("Enter")
        await expect(page.locator(".message.answer", has_text="hello guest")).to_be_visible()
        await expect(page.get_by_label("New conversation")).to_have_count(0)


async def test_a_member_begins_another_conversation_of_their_own(there: Furnished) -> None:
    async with there.somebody("member", 1280) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/")
        await page.get_by_label("New conversation").click()
        composer = page.locator(".composer textarea")
        await composer.fill("say:a second one")
        await composer.press("Enter")
        await expect(page.locator(".message.answer", has_text="a second one")).to_be_visible()
        await expect(page.locator(".conversations li")).to_have_count(2)
        own = await there.own_session("member")
        assert f"{own}:" in await page.evaluate("decodeURIComponent(location.hash)")


async def test_what_is_said_while_nobody_looks_is_unread(there: Furnished) -> None:
    async def unread() -> list[str]:
        return [row["key"] for row in await there.read("sessions list", unread=True)]

    async def until(key: str, *, there_: bool) -> None:
        async with asyncio.timeout(20):
            while (key in await unread()) is not there_:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.1)

    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/chat/web:desk")
        await page.locator(".message.answer").first.wait_for()
        await until("web:desk", there_=False)
        await there.say("web:news", "say:something new")
        await until("web:news", there_=True)
        row = page.locator(".conversations li", has_text="something new")
        await expect(row.locator("a.unread")).to_be_visible()
        await expect(page).to_have_title(re.compile(r"^\(\d+\) Chat"))
        await there.call("notify", chat="web:desk", text="Look here.")
        await expect(page.get_by_text("Look here.").first).to_be_visible()
        await until("web:desk", there_=False)
        await row.click()
        await until("web:news", there_=False)


async def test_a_job_is_made_in_the_conversation_one_came_from(there: Furnished) -> None:
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/chat/web:shelf")
        await page.locator(".message.answer").first.wait_for()
        await page.goto(f"{there.house.url}/#/schedule")
        await page.get_by_role("button", name="New job").click()
        form = page.get_by_role("dialog")
        await expect(form.get_by_label("Speaks in")).to_have_value("web:shelf")
        choices = form.locator("#conversations option")
        await expect(choices.first).to_be_attached()
        assert "web:desk" in [await each.get_attribute("value") for each in await choices.all()]
        await form.get_by_label("Task for the assistant").fill("Drink water")
        await form.get_by_label("When").fill("every 2 hours")
        await form.get_by_role("button", name="Save").click()
        await expect(form).to_have_count(0)
    jobs = await there.read("cron list", limit=500)
    assert [job["to"] for job in jobs if job["text"] == "Drink water"] == ["web:shelf"]
