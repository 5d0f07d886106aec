"""A path of the gateway that nothing answers, while the gateway itself is there: it is asked again
at growing pauses, at every place of the page, and at once when somebody wants it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest
import pytest_asyncio
from playwright.async_api import Error, Route, WebSocketRoute, expect

from tests.page.furnishing import Furnished, furnished
from tests.page.places import ALL
from tests.sampling import few

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.process]

MINUTES = 5
STEP_MS = 3_000
MOST = 24
"""Questions of one kind in that time, by two parts of a view; every three seconds they would be
200."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Furnished]:
    async with furnished(tmp_path_factory.mktemp("no_answer")) as house:
        yield house


def behind(asked: Counter[str]) -> Callable[[Route], Awaitable[None]]:
    """What a proxy answers for a gateway that is not there; it counts what was asked for."""

    async def answer(route: Route) -> None:
        asked[re.sub(r".*(/api/[^?]+).*", r"\1", route.request.url)] += 1
        with suppress(Error):  # the page has been closed meanwhile
            await route.fulfill(status=502, body="<html>Bad Gateway</html>")

    return answer


@pytest.mark.parametrize("place", few([*ALL, "chat/web:desk", "schedule/1"], 1))
async def test_what_is_never_answered_is_asked_for_less_and_less(
    there: Furnished, place: str
) -> None:
    asked = Counter[str]()
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.clock.install()
        await page.route(re.compile(r"/api/(?!me$)"), behind(asked))
        await page.goto(f"{there.house.url}/#/{place}")
        await page.locator("main > *").first.wait_for()
        for _ in range(MINUTES * 60_000 // STEP_MS):
            await page.clock.run_for(STEP_MS)
            await page.evaluate("() => fetch('/health').then((answer) => answer.text())")
    assert {path: times for path, times in asked.items() if times > MOST} == {}


async def test_a_socket_that_closes_at_once_is_opened_less_and_less(there: Furnished) -> None:
    opened = 0

    async def close(socket: WebSocketRoute) -> None:
        nonlocal opened
        opened += 1
        await socket.close()

    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.clock.install()
        await page.route_web_socket(re.compile("/ws$"), close)
        await page.goto(f"{there.house.url}/#/settings/appearance")
        await page.locator("main > *").first.wait_for()
        for _ in range(120):
            await page.clock.run_for(500)
            await page.evaluate("() => fetch('/health').then((answer) => answer.text())")
        assert 3 < opened < 16  # in a minute; every half second they would be 120


async def test_what_is_wanted_is_asked_for_at_once(there: Furnished) -> None:
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        unanswered = behind(Counter())

        async def until_wanted(route: Route) -> None:
            """The page itself asks again, too: what it asks for before the press fails."""
            wanted = await page.evaluate("() => window.wanted === true")
            await (route.continue_() if wanted else unanswered(route))

        press = "document.addEventListener('click', () => { window.wanted = true }, true)"
        await page.add_init_script(press)
        await page.route("**/api/web/tokens/list*", until_wanted)
        await page.goto(f"{there.house.url}/#/settings/access")
        again = page.get_by_role("main").get_by_role("button", name="Try again")
        await again.first.click()
        await expect(page.get_by_text("an owner").first).to_be_visible(timeout=2_500)
