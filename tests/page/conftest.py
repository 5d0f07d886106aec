"""The page in a real browser, before a whole gateway in a process of its own."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright

from tests.process.harness import World, open_world

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _BROWSERS)), None)
# A process of root's has no other way to be one of chromium's. For each window, chromium loads two
# pages of its own below the address bar that nobody sees; they take more time than the window.
BROWSER_OPTIONS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
)
PATIENCE_MS = 45_000
TOKEN = "the token of this gateway, long enough to be one"


class House:
    """A gateway with its page, and a browser to look at it."""

    def __init__(self, world: World, browser: Browser, url: str) -> None:
        self.world = world
        self.url = url
        self.complaints: list[str] = []
        self.browser = browser

    async def link(self) -> str:
        """An address that lets in once, as the command line gives it."""
        ended = await self.world.run("web", "link")
        assert ended.code == 0, ended.errors
        return f"{self.url}/#login={ended.output.split()[0].partition('#login=')[2]}"

    async def _quick_link(self) -> str:
        """The same over HTTP, which takes a tenth of the time, if that token is accepted."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        url = f"{self.url}/api/web/link"
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.post(url, json={}) as answer,
        ):
            made = await answer.json()
        if "url" not in made:
            return await self.link()
        return f"{self.url}/#login={made['url'].partition('#login=')[2]}"

    @asynccontextmanager
    async def looking(
        self,
        place: str = "",
        *,
        size: tuple[int, int] = (1280, 800),
        scheme: Literal["light", "dark"] = "light",
        zone: str = "UTC",
    ) -> AsyncIterator[Page]:
        """Somebody who was let in, at a place of the page. What the page complains of is kept."""
        context = await self.browser.new_context(
            locale="en-US",
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            timezone_id=zone,
        )
        context.set_default_timeout(PATIENCE_MS)
        page = await context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        try:
            await page.goto(await self._quick_link())
            await page.get_by_role("navigation", name="Views").wait_for()
            if place:
                await page.goto(f"{self.url}/#/{place}")
            yield page
        finally:
            await context.close()

    def _heard(self, message: ConsoleMessage) -> None:
        # What cleans texts reads them in a document that runs nothing, which browsers note.
        if message.location.get("url", "").endswith("/vendor/dompurify.js"):
            return
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")


@asynccontextmanager
async def opened(
    folder: Path, fill: Callable[[Path], Awaitable[None]] | None = None, *, web: str = ""
) -> AsyncIterator[House]:
    """A house of its own, with a gateway that is ready; `fill` puts things into its home first,
    `web` are more lines of its table."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    async with open_world(folder) as world, async_playwright() as playwright:
        world.configure(more=f'[web]\nport = 0\ntoken = "{TOKEN}"\n{web}')
        if fill is not None:
            await fill(world.home)
        line = await (await world.launch()).ready()
        url = next(word for word in line.split() if word.startswith("web=")).removeprefix("web=")
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=BROWSER_OPTIONS)
        yield House(world, browser, url)
        await browser.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """One for all tests of a module."""
    async with opened(tmp_path_factory.mktemp("page")) as house_opened:
        yield house_opened


@pytest_asyncio.fixture(loop_scope="module")
async def own_house(tmp_path: Path) -> AsyncIterator[House]:
    """One for a test that does to it what no other may see."""
    async with opened(tmp_path) as house_opened:
        yield house_opened
        assert house_opened.complaints == []


@pytest.fixture(autouse=True)
def _no_complaints(request: pytest.FixtureRequest) -> object:
    """What the browser's console complains of fails the test that made it."""
    yield
    if "house" not in request.fixturenames:
        return
    house: House = request.getfixturevalue("house")
    complaints, house.complaints = house.complaints, []
    assert complaints == []


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was pressed, by test."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            pressed = dict(report.user_properties).get("pressed", [])
            if pressed and report.when == "call":
                name = report.nodeid.rpartition("[")[2].rstrip("]")
                terminalreporter.section(f"{len(pressed)} pressed by {name}, {outcome}")
                terminalreporter.write_line("\n".join(pressed))
