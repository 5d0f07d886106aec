"""The page below a proxy's path, in other time zones, with a link opened in a tab that is open
already, and while much happens."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.async_api import Page, WebSocketRoute, expect

from tests.page.conftest import House, opened
from tests.server.proxying import Proxy

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)


@pytest.mark.parametrize("strips", [True, False], ids=["removed", "left"])
async def test_all_of_the_page_works_below_the_path_of_a_proxy(
    strips: bool, tmp_path: Path
) -> None:
    web = 'trusted_proxies = ["127.0.0.1"]' if strips else 'base_path = "/assistant"'
    async with opened(tmp_path, web=web) as house:
        own = house.url
        async with Proxy(own, "/assistant", strips=strips, tells=strips).serving() as proxy:
            house.url = proxy.url
            async with house.looking("chat/web:below") as page:
                failed: list[str] = []
                page.on(
                    "response",
                    lambda answer: failed.append(answer.url) if answer.status >= 400 else None,
                )
                await page.get_by_label("Message", exact=True).fill("say:found below a path")
                await page.keyboard.press("Enter")
                answer = page.get_by_label("Answer", exact=True)
                await expect(answer).to_contain_text("found below a path")
                await expect(page.get_by_role("img", name="Connected")).to_be_visible()
                await page.goto(f"{proxy.url}/#/settings/access")
                await expect(page.locator("main")).to_contain_text("browser")
                await page.goto(f"{proxy.url}/docs")
                await expect(page.locator("#paths details").first).to_be_visible()
                worker = "() => navigator.serviceWorker.ready.then(({ scope }) => scope)"
                await page.goto(f"{proxy.url}/")
                assert await page.evaluate(worker) == f"{proxy.url}/"
                (cookie,) = await page.context.cookies()
                assert cookie.get("path") == "/assistant"
                assert failed == []
        assert house.complaints == []


async def test_a_link_pasted_into_the_open_login_tab_lets_in(house: House) -> None:
    async with house.looking() as page:
        await page.context.clear_cookies()
        await page.reload()
        await expect(page.get_by_label("Token")).to_be_visible()
        link = await house.link()
        await page.evaluate("link => { location.href = link }", link)
        await expect(page.get_by_role("navigation", name="Views")).to_be_visible()
        assert "login=" not in page.url
        house.complaints.clear()  # browsers note each 401


async def test_a_link_that_opens_nothing_says_so_in_the_open_tab(house: House) -> None:
    async with house.looking() as page:
        await page.context.clear_cookies()
        await page.reload()
        await expect(page.get_by_label("Token")).to_be_visible()
        async with page.expect_console_message():  # browsers note each 401
            await page.evaluate("() => { location.hash = '#login=used' }")
        await expect(page.get_by_role("alert")).to_contain_text("opens nothing")
        await page.wait_for_timeout(500)  # the console may be a little late
        house.complaints.clear()


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Shanghai"])
async def test_the_chart_has_the_days_of_the_gateway(house: House, zone: str) -> None:
    async with house.looking("chat/web:spent", zone=zone) as page:
        await page.get_by_label("Message", exact=True).fill("say:something that costs tokens")
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Answer", exact=True).first).to_be_visible()
        await page.goto(f"{house.url}/#/usage")
        await page.get_by_role("button", name="7 days").click()
        today = datetime.now(UTC)  # the gateway of the tests lives in UTC
        shown = [f"{today.month}/{today.day}/{today.year}"]
        async with asyncio.timeout(15):
            while await _last_bar(page) != shown:
                tiles = await page.locator(".tiles .tile b").all_inner_texts()
                shown = [shown[0], *tiles[2:0:-1]]  # the day, what went out, what came in
        await expect(page.locator("main")).to_contain_text("in the time zone UTC")


async def _last_bar(page: Page) -> list[str]:
    """What the chart's legend says where the mouse is over the last day."""
    box = await page.locator(".chart .u-over").bounding_box()
    if box is None:  # it is drawn anew
        return []
    await page.mouse.move(box["x"] + box["width"] - 9, box["y"] + box["height"] / 2)
    await page.mouse.move(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    return await page.locator(".u-legend .u-value").all_inner_texts()


async def test_the_list_moves_while_much_happens(house: House) -> None:
    async with house.looking() as page:
        noise = Noise()
        await page.route_web_socket(re.compile("/ws$"), noise.connect)
        await page.goto("about:blank")
        await page.goto(f"{house.url}/#/chat")
        await asyncio.wait_for(noise.began.wait(), 10)
        await page.wait_for_timeout(1_000)
        ended = await house.world.run("send", "--session", "web:latecomer", "say:I am new here")
        assert ended.code == 0, ended.errors
        row = page.locator(".conversations a", has_text="latecomer")
        await expect(row).to_be_visible()  # the noise lasts until then
        noise.ended = True


class Noise:
    """Between the page and the gateway: it says every 50 ms that something changed somewhere."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.ended = False
        self._tasks: list[asyncio.Task[None]] = []

    def connect(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def pass_on(message: str | bytes) -> None:
            socket.send(message)
            item = json.loads(message)
            if item.get("type") == "snapshot" and not self.began.is_set():
                self.began.set()
                again = json.dumps({"type": "event", "id": item["id"]})
                self._tasks.append(asyncio.create_task(self._repeat(socket, again)))

        server.on_message(pass_on)

    async def _repeat(self, socket: WebSocketRoute, message: str) -> None:
        while not self.ended:
            socket.send(message)
            await asyncio.sleep(0.05)
