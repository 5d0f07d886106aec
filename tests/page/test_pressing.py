"""Whatever can be pressed on the page works: by everybody, on every screen, in New York."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import Page, expect

from tests.page.furnishing import ROLES, Furnished, furnished
from tests.page.pressing import SIDEWAYS, Crawl, answering

pytestmark = pytest.mark.asyncio(loop_scope="module")
WIDTHS = (390, 800, 1280)
REFUSED = '{"error": {"code": "conflict", "message": "That is not on this machine."}}'
AWAY = {
    "/api/restart": (200, '"It starts again."'),
    "/api/logout": (200, '{"ok": true}'),
    "/api/web/tokens/revoke": (409, REFUSED),
    "/api/channels/connect": (409, REFUSED),
    "/api/channels/meet": (409, REFUSED),
}
"""What ends the gateway or a visit, or asks the internet, is answered by the test."""
SERIOUS = ("serious", "critical")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Furnished]:
    async with furnished(tmp_path_factory.mktemp("furnished")) as house:
        yield house


@pytest_asyncio.fixture(loop_scope="module")
async def anew(tmp_path: Path) -> AsyncIterator[Furnished]:
    """A house of one test's own: who presses everything there changes its settings, too."""
    async with furnished(tmp_path) as house:
        yield house


def crawl_of(page: Page, there: Furnished, most: int = 120) -> Crawl:
    async def asked() -> None:
        await there.asked("web:asked")

    return Crawl(page, there.house.url, before={"chat/web:asked": asked}, answers=AWAY, most=most)


async def shut_out(page: Page) -> list[str]:
    """What keeps somebody from using what is shown, in the words of axe."""
    results = await Axe().run(page)
    return [
        f"{each['id']}: {node['html'][:120]}"
        for each in results.response["violations"]
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


@pytest.mark.slow
@pytest.mark.timeout(5_400)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("role", ROLES)
async def test_everything_that_can_be_pressed_works(
    anew: Furnished, role: str, width: int, record_property: Callable[[str, object], None]
) -> None:
    """What was pressed is printed at the end of the run."""
    async with anew.somebody(role, width) as context:
        page = await context.new_page()
        crawl = crawl_of(page, anew)
        await crawl.run("chat", "chat/web:asked", "settings/health")
        record_property("pressed", crawl.pressed)
        assert len(crawl.pressed) > 20
        assert not crawl.faults, "\n".join(crawl.faults)


@pytest.mark.slow
@pytest.mark.timeout(5_400)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("role", ROLES)
async def test_nobody_is_shut_out_at_any_place(anew: Furnished, role: str, width: int) -> None:
    """Every kind of place that a short crawl finds, judged by axe."""
    async with anew.somebody(role, width) as context:
        page = await context.new_page()
        crawl = crawl_of(page, anew, most=2)
        await crawl.run("chat", "chat/web:asked", "settings/health")
        shut: list[str] = []
        for place in crawl.places:
            await crawl.open(place)
            shut += [f"{place}: {line}" for line in await shut_out(page)]
            shut += [f"{place}: wider than the screen"] * await page.evaluate(SIDEWAYS)
        assert shut == []
        assert len(crawl.places) > 4


async def test_a_name_wider_than_a_phone_breaks_in_the_view_of_its_run(there: Furnished) -> None:
    rows = await there.read("runs list", limit=200)
    longest = max(rows, key=lambda row: len(max(row["session_key"].split(), key=len)))
    assert len(longest["session_key"]) > 60
    async with there.somebody("owner", 390) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/runs/{longest['id']}")
        await page.get_by_text(longest["session_key"]).wait_for()
        assert not await page.evaluate(SIDEWAYS)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await holds():  # noqa: ASYNC110 - the gateway does not tell
            await asyncio.sleep(0.1)


async def test_the_buttons_of_a_job_do_what_they_say(there: Furnished) -> None:
    async def state() -> str:
        rows = await there.read("cron list", limit=500)
        return next((row["state"] for row in rows if row["name"] == "Builds 1"), "")

    async def fired() -> bool:
        rows = await there.read("cron history", job="Builds 1")
        return any(row["status"] != "missed" for row in rows)

    async with there.somebody("owner", 390) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/schedule")
        row = page.get_by_role("row").filter(has_text="Builds 1")
        await row.get_by_role("button", name="Pause").click()
        await until(lambda: _is(state, "paused"))
        await row.get_by_role("button", name="Resume").click()
        await until(lambda: _is(state, "active"))
        assert not await fired()
        await row.get_by_role("button", name="Do it now").click()
        await until(fired)
        await row.get_by_role("link").click()
        await page.get_by_role("button", name="Remove").click()
        await page.get_by_role("button", name="Yes, remove it").click()
        await until(lambda: _is(state, ""))
        assert len(await there.read("cron list", limit=500)) == 10


async def _is(state: Callable[[], Awaitable[str]], wanted: str) -> bool:
    return await state() == wanted


async def test_the_permission_that_is_taken_back_is_the_one_that_is_shown(
    there: Furnished,
) -> None:
    rules = {row["session_key"]: row for row in await there.read("policy rules")}
    async with there.somebody("owner", 800) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/settings/policy")
        row = page.get_by_role("listitem").filter(has_text="web:two")
        await expect(row.locator("code")).to_have_text(rules["web:two"]["subject"])
        await row.get_by_role("button", name="Take it back").click()
        await expect(row).to_have_count(0)
    assert {row["id"] for row in await there.read("policy rules")} == {
        rule["id"] for key, rule in rules.items() if key != "web:two"
    }


@pytest.mark.parametrize(
    ("width", "place"), [(390, "memory"), (800, "RUN"), (1280, "chat/web:desk")]
)
async def test_nobody_is_shut_out_on_any_screen(there: Furnished, width: int, place: str) -> None:
    """One view for each width; all of them at each are in the slow test."""
    run = (await there.read("runs list", session="web:files", limit=1))[0]["id"]
    async with there.somebody("owner", width) as context:
        page = await context.new_page()
        await crawl_of(page, there).open(place.replace("RUN", f"runs/{run}"))
        assert await shut_out(page) == []
        assert not await page.evaluate(SIDEWAYS)


async def test_what_is_pressed_in_a_view_works(there: Furnished) -> None:
    """Some of one view; all of them, for everybody and on every screen, are in the slow test."""
    async with there.somebody("owner", 390) as context:
        page = await context.new_page()
        crawl = crawl_of(page, there, most=7)
        await crawl.run("schedule", only=True)
        assert len(crawl.pressed) > 5
        assert crawl.faults == []


async def test_an_error_that_comes_again_is_told_once_and_can_be_closed(there: Furnished) -> None:
    async with there.somebody("owner", 390) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/schedule")
        refusal = '{"error": {"code": "conflict", "message": "Not while it snows."}}'
        await page.route("**/api/cron/pause", answering(409, refusal))
        button = page.get_by_role("row").filter(has_text="Builds 2").get_by_label("Pause")
        for _ in range(3):
            await button.click()
            await expect(button).to_be_enabled()
        notice = page.locator(".notice.bad")
        await expect(notice).to_have_text("Not while it snows.")
        await notice.get_by_role("button", name="Close").click()
        await expect(notice).to_have_count(0)
