"""Forks on the page: from a step of a run to both runs side by side, for owners and for members."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.page.furnishing import Furnished, furnished
from tests.page.pressing import SIDEWAYS, Traffic
from tests.page.test_pressing import shut_out

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Furnished]:
    async with furnished(tmp_path_factory.mktemp("forks")) as opened:
        yield opened


async def run_of(there: Furnished, session: str) -> dict[str, Any]:
    (run, *_) = await there.read("runs list", session=session, limit=1)
    return dict(await there.read("runs show", id=run["id"]))


async def forked(page: Page, there: Furnished, run: dict[str, Any], say: str) -> None:
    """Fork a run at its first message, with the form."""
    first = run["entries"][0]["seq"]
    await page.goto(f"{there.house.url}/#/runs/{run['run']['id']}")
    await page.get_by_role("button", name=f"Fork from entry {first}", exact=True).click()
    form = page.locator("[data-fork=form]")
    await form.get_by_label("Say").fill(say)
    assert await shut_out(page) == []
    await form.get_by_role("button", name="Fork").click()
    await page.wait_for_url("**/#/runs/**")


@pytest.mark.parametrize("width", [1280, 390])
async def test_an_owner_forks_a_run_and_sees_both_side_by_side(
    there: Furnished, width: int
) -> None:
    run = await run_of(there, "web:files")
    async with there.somebody("owner", width) as context:
        page = await context.new_page()
        traffic = Traffic(page)
        await forked(page, there, run, "say:Nothing is there.")
        both = page.locator("[data-fork=both]")
        await expect(both.get_by_role("heading", name="Both runs side by side")).to_be_visible()
        await expect(both.locator("[data-fork=steps]")).to_contain_text("Nothing is there.")
        await expect(both.locator("[data-fork=figures]")).to_contain_text("Cost")
        await both.get_by_role("button", name="Show all steps").click()
        await expect(both.get_by_role("button", name="Show differences only")).to_be_visible()
        await traffic.settled(page)
        assert await shut_out(page) == []
        assert not await page.evaluate(SIDEWAYS)
        await page.evaluate("localStorage.setItem('language', 'zh')")
        await page.reload()
        await expect(both.get_by_role("heading", name="两次运行并排对比")).to_be_visible()
        assert (traffic.refused, traffic.faults) == ([], [])


async def test_a_member_forks_their_own_run_and_no_other(there: Furnished) -> None:
    own = await run_of(there, await there.own_session("member"))
    foreign = await run_of(there, "web:desk")
    async with there.somebody("member", 390) as context:
        page = await context.new_page()
        traffic = Traffic(page)
        await forked(page, there, own, "say:As a member.")
        both = page.locator("[data-fork=both]")
        await expect(both.locator("[data-fork=steps]")).to_contain_text("As a member.")
        await traffic.settled(page)
        assert (traffic.refused, traffic.faults) == ([], [])
    runs = await there.read("runs list", session=own["run"]["session_key"], limit=5)
    forks = await there.read("runs list", limit=50)
    (fork,) = [each for each in forks if each["parent"] == own["run"]["id"]]
    assert fork["session_key"] == f"fork:{fork['id']}"
    assert runs
    theirs = await asks(there, {"id": own["run"]["id"], "model": "test/other"})
    assert theirs == (403, "Only owners choose the model of a fork.")
    status, text = await asks(there, {"id": foreign["run"]["id"]})
    assert (status, text) == (404, f"You have no run {foreign['run']['id']}.")


async def asks(there: Furnished, arguments: dict[str, Any]) -> tuple[int, str]:
    """A fork that a member asks for over HTTP."""
    headers = {"Authorization": f"Bearer {there.tokens['member']}"}
    url = f"{there.house.url}/api/runs/fork"
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(url, json=arguments) as answer,
    ):
        return answer.status, str((await answer.json())["error"]["message"])
