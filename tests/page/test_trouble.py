"""What goes wrong while somebody looks: each view says so, keeps what it has, and goes on later."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
import pytest_asyncio
from playwright.async_api import Error, Page, Route, expect

from tests.page.furnishing import Furnished, furnished
from tests.page.pressing import answering, try_again

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.process]

FAILS = '{"error": {"code": "internal", "message": "It fell over."}}'
ODD = 1e18
"""Seconds that no calendar has."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Furnished]:
    async with furnished(tmp_path_factory.mktemp("trouble")) as house:
        yield house


@asynccontextmanager
async def looking(there: Furnished, place: str, width: int = 1280) -> AsyncIterator[Page]:
    """An owner at a place."""
    async with there.somebody("owner", width) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/{place}")
        await page.locator("main > *").first.wait_for()
        yield page


def rows_of(change: Callable[[list[object]], object]) -> Callable[[Route], Awaitable[None]]:
    """The gateway's answer with other rows."""

    async def fulfil(route: Route) -> None:
        with suppress(Error):  # the page has been closed meanwhile
            response = await route.fetch()
            rows = json.loads(await response.text())
            await route.fulfill(response=response, body=json.dumps(change(rows)))

    return fulfil


async def test_a_row_that_cannot_be_drawn_costs_only_its_list(there: Furnished) -> None:
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.route("**/api/runs/list?*", rows_of(lambda rows: [None, *rows]))
        await page.goto(f"{there.house.url}/#/runs")
        await expect(page.get_by_role("alert")).to_contain_text("This could not be shown")
        await expect(page.get_by_role("heading", name="Runs")).to_be_visible()
        await page.get_by_role("link", name="Memory").click()
        await expect(page.get_by_role("heading", name="Memory")).to_be_visible()


async def test_a_time_that_no_calendar_has_is_a_dash(there: Furnished) -> None:
    def odd(rows: list[object]) -> object:
        return [{**row, "created_at": ODD} for row in rows if isinstance(row, dict)]

    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.route("**/api/runs/list?*", rows_of(odd))
        await page.goto(f"{there.house.url}/#/runs")
        await expect(page.locator("tbody time").first).to_have_text("–")


async def test_another_list_is_on_its_way_and_the_one_before_is_not_it(there: Furnished) -> None:
    async with looking(there, "runs") as page:
        await page.locator("tbody tr").first.wait_for()
        held = asyncio.Event()

        async def slow(route: Route) -> None:
            await held.wait()
            await route.fulfill(status=500, content_type="application/json", body=FAILS)

        await page.route("**/api/runs/list?state=failed*", slow)
        await page.get_by_role("button", name="Failed").click()
        await expect(page.get_by_role("status", name="Loading")).to_have_count(1)
        held.set()
        await expect(page.get_by_role("alert")).to_contain_text("It fell over.")
        await expect(page.locator("tbody tr")).to_have_count(0)
        await try_again(page, "**/api/runs/list?state=failed*")
        await expect(page.get_by_role("alert")).to_have_count(0)


async def test_what_could_not_be_renewed_stays_and_says_that_it_is_old(there: Furnished) -> None:
    async with looking(there, "runs") as page:
        await page.locator("tbody tr").first.wait_for()
        await page.route("**/api/runs/list?*", answering(500, FAILS))
        await expect(page.get_by_role("alert")).to_contain_text("It fell over.")
        assert await page.locator("tbody tr").count() > 1
        await try_again(page, "**/api/runs/list?*")
        await expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize(("status", "body"), [(500, FAILS), (502, "<html>Bad Gateway</html>")])
async def test_a_gateway_that_cannot_say_who_this_is_asks_for_no_token(
    there: Furnished, status: int, body: str
) -> None:
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.route("**/api/me", answering(status, body))
        await page.goto(f"{there.house.url}/#/schedule")
        await expect(page.get_by_text("The gateway does not answer.")).to_be_visible()
        await expect(page.get_by_label("Token")).to_have_count(0)
        await page.unroute("**/api/me")
        await expect(page.get_by_role("row").filter(has_text="Builds 1")).to_be_visible()
        await expect(page.get_by_label("Connected", exact=True)).to_have_count(1)


async def test_what_did_not_come_comes_once_the_gateway_answers_again(there: Furnished) -> None:
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/chat")
        await page.get_by_role("navigation", name="Views").wait_for()
        await page.route("**/api/**", answering(502, "<html>Bad Gateway</html>"))
        await page.goto(f"{there.house.url}/#/settings/access")
        await expect(page.get_by_text("This page continues when it does.")).to_be_visible()
        await page.unroute("**/api/**")
        await expect(page.get_by_text("This page continues when it does.")).to_have_count(0)
        await expect(page.get_by_text("an owner").first).to_be_visible()


async def test_what_no_gateway_says_is_told_in_words(there: Furnished) -> None:
    async with looking(there, "settings/access") as page:
        await page.get_by_label("Name").fill("a program")
        await page.route("**/api/web/tokens/add", answering(413, "<html>Too Large</html>"))
        await page.get_by_role("button", name="Make a token").click()
        notice = page.locator(".notice.bad")
        await expect(notice).to_have_text("This is no answer of the gateway (413).")
        await page.unroute("**/api/web/tokens/add")
        await page.route("**/api/web/tokens/add", answering(200, "<html>Sign in</html>"))
        await page.get_by_role("button", name="Make a token").click()
        await expect(page.locator(".notice.bad")).to_have_count(2)
        assert "SyntaxError" not in await page.locator(".notices").inner_text()


@pytest.mark.parametrize("place", ["chat/100%25", "toString", "runs/%E0%A4", "constructor/x"])
async def test_no_address_leaves_the_page_empty(there: Furnished, place: str) -> None:
    async with looking(there, place.replace("%25", "%")) as page:
        await expect(page.get_by_role("navigation", name="Views")).to_be_visible()
        await expect(page.locator("main")).not_to_be_empty()


async def test_what_a_dialog_tells_is_read_and_closed_in_it(there: Furnished) -> None:
    async with looking(there, "schedule") as page:
        await page.get_by_role("button", name="New job").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Task for the assistant").fill("Look at the garden.")
        await dialog.get_by_label("When").fill("every 2 hours")
        await page.route("**/api/cron/add", answering(409, FAILS))
        await dialog.get_by_role("button", name="Save").click()
        notice = dialog.locator(".notice.bad")
        await expect(notice).to_have_text("It fell over.")
        await notice.get_by_role("button", name="Close").click(timeout=3_000)
        await expect(notice).to_have_count(0)


async def test_a_switch_that_is_refused_says_why(there: Furnished) -> None:
    async with looking(there, "settings/skills") as page:
        await page.route("**/api/skills/*able", answering(409, FAILS))
        await page.get_by_role("switch").first.click()
        await expect(page.locator(".notice.bad")).to_have_text("It fell over.")


async def test_what_can_be_mended_is_mended_again_with_another_press(there: Furnished) -> None:
    finding = {"about": "disk", "level": "warning", "text": "Full.", "remedy": "", "mendable": True}
    asked = []

    async def doctor(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or "{}").get("fix"))
        await route.fulfill(json=[finding])

    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.route("**/api/doctor", doctor)
        await page.goto(f"{there.house.url}/#/settings/health")
        for _ in range(2):
            button = page.get_by_role("button", name="Mend it")
            await button.click()
            await expect(button).to_have_attribute("aria-busy", "false")
        await page.get_by_role("button", name="Look again").click()
        await expect(page.get_by_role("button", name="Look again")).to_be_enabled()
        assert asked == [False, True, True, False]


async def test_no_list_asks_for_more_than_the_gateway_gives(there: Furnished) -> None:
    """It refused the request for more than 1,000 rows, and the list seemed to be whole."""

    async def many(route: Route) -> None:
        limit = int(route.request.url.partition("limit=")[2].partition("&")[0])
        if limit > 1_000:
            await route.fulfill(status=400, body=FAILS)
        else:
            await route.fulfill(json=[{**row, "id": f"{number:026}"} for number in range(limit)])

    [row] = await there.read("runs list", limit=1)
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.route("**/api/runs/list?*", many)
        await page.goto(f"{there.house.url}/#/runs")
        for number in (50, 100, 200, 400, 800):
            await expect(page.locator("tbody tr")).to_have_count(number)
            await page.get_by_role("button", name="Show more").click()
        await expect(page.locator("tbody tr")).to_have_count(1_000)
        await expect(page.get_by_text("Only 1,000 are shown.")).to_be_visible()


async def test_what_is_written_and_not_saved_stays(there: Furnished) -> None:
    async with looking(there, "memory/SOUL.md") as page:
        area = page.get_by_role("textbox", name="SOUL.md")
        before = await area.input_value()
        await area.fill("I am a gardener.")
        await page.get_by_role("combobox", name="Language").select_option("zh")
        await expect(page.get_by_role("button", name="放弃更改")).to_be_visible()
        await asyncio.sleep(0.5)
        await expect(area).to_have_value("I am a gardener.")
        await page.get_by_role("button", name="USER.md").click()
        await page.get_by_role("textbox", name="USER.md").wait_for()
        await page.get_by_role("button", name="SOUL.md").click()
        await expect(area).to_have_value("I am a gardener.")
        await page.get_by_role("button", name="放弃更改").click()
        await expect(area).to_have_value(before)


async def test_the_times_of_a_job_elsewhere_name_its_zone(there: Furnished) -> None:
    """The browser is in New York; the job is in Tokyo."""
    given = {"schedule": "0 8 * * *", "zone": "Asia/Tokyo", "name": "Tokyo"}
    job = await there.call("cron add", text="Good morning", **given)
    async with looking(there, f"schedule/{job['id']}") as page:
        facts = page.get_by_role("dialog").locator(".facts")
        await expect(facts).to_contain_text("8:00\u202fAM Asia/Tokyo")


async def test_what_is_copied_without_https_is_copied_all_the_same(there: Furnished) -> None:
    async with looking(there, "chat/web:shelf") as page:
        await page.evaluate(
            "() => Object.defineProperty(navigator, 'clipboard', { value: undefined })"
        )
        answer = page.get_by_role("article", name="Answer")
        await answer.hover()
        await answer.get_by_role("button", name="Copy").click()
        await expect(page.locator(".notice.good")).to_have_text("Copied")


async def test_a_message_waits_for_the_files_that_go_along(there: Furnished) -> None:
    held = asyncio.Event()

    async def slow(route: Route) -> None:
        await held.wait()
        await route.continue_()

    async with looking(there, "chat/web:letters") as page:
        await page.route("**/api/uploads?*", slow)
        await page.get_by_role("textbox", name="Message").fill("say:Here it is.")
        await page.locator("input[type=file]").set_input_files(
            {"name": "letter.txt", "mimeType": "text/plain", "buffer": b"Dear you"}
        )
        await expect(page.locator(".attached")).to_contain_text("letter.txt Loading")
        await page.get_by_role("textbox", name="Message").press("Enter")
        send = page.get_by_role("button", name="Send", exact=True)
        await expect(send).to_have_attribute("aria-busy", "true")
        held.set()
        await expect(page.locator(".message.person .files")).to_contain_text("letter.txt")


async def test_questions_that_cannot_be_asked_for_are_no_silence(there: Furnished) -> None:
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.route("**/api/approvals/list?*", answering(500, FAILS))
        await page.goto(f"{there.house.url}/#/chat/web:asked")
        await expect(page.get_by_role("alert")).to_contain_text("It fell over.")
        await try_again(page, "**/api/approvals/list?*")
        await expect(page.get_by_role("button", name="Approve")).to_be_visible()


async def test_a_decision_is_at_work_until_its_question_is_gone(there: Furnished) -> None:
    """Pressed once more meanwhile, it was refused as decided already."""
    await there.asked("web:slow")
    held = asyncio.Event()

    async def slow(route: Route) -> None:
        await held.wait()
        await route.continue_()

    async with looking(there, "chat/web:slow") as page:
        deny = page.get_by_role("button", name="Deny")
        await deny.wait_for()
        await page.route("**/api/approvals/list?*", slow)
        await deny.click()
        await expect(deny).to_have_attribute("aria-busy", "true")
        await asyncio.sleep(0.5)
        await expect(deny).to_have_attribute("aria-busy", "true")
        held.set()
        await expect(deny).to_have_count(0)


@pytest.mark.parametrize("width", [390, 1280])
async def test_a_dialog_looks_the_same_wherever_it_is_opened(there: Furnished, width: int) -> None:
    """Styles of the list that it was opened in left a phone no room for the title."""
    async with looking(there, "chat", width) as page:
        row = page.get_by_role("listitem").filter(has_text="web:desk")
        await row.get_by_role("button", name="Manage").click()
        dialog = page.get_by_role("dialog")
        name = await dialog.get_by_text("Title", exact=True).bounding_box()
        field = await dialog.get_by_label("Title").bounding_box()
        whole = await dialog.bounding_box()
        assert name
        assert field
        assert whole
        assert field["y"] > name["y"]
        assert field["width"] > whole["width"] * 0.8
        sizes = [await each.bounding_box() for each in await dialog.locator(".button").all()]
        assert {round(size["height"]) for size in sizes[1:] if size} == {34}
