"""The page as an app on a phone: installed, without a connection, and notified."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.page.conftest import House, opened
from tests.plugins.page.pushing import PushedBrowser, PushServer

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)

READY = "() => navigator.serviceWorker.ready.then((worker) => worker.active.scriptURL)"


async def test_it_can_be_installed(house: House) -> None:
    async with house.looking() as page:
        assert await page.evaluate(READY) == f"{house.url}/sw.js"
        session = await page.context.new_cdp_session(page)
        manifest = await session.send("Page.getAppManifest")
        assert manifest["errors"] == []
        told = json.loads(manifest["data"])
        assert (told["display"], told["start_url"]) == ("standalone", "./")
        for icon in told["icons"]:
            answer = await page.request.get(f"{house.url}/{icon['src']}")
            assert (answer.status, answer.headers["content-type"]) == (200, "image/png")


async def test_without_a_connection_it_says_so_and_keeps_nothing_else(house: House) -> None:
    async with house.looking() as page:
        await page.evaluate(READY)
        kept = await page.evaluate(
            """async () => {
                const names = await caches.keys();
                const lists = names.map(async (name) => (await caches.open(name)).keys());
                return (await Promise.all(lists)).flat().map(({ url }) => url);
            }"""
        )
        assert [url.rpartition("/")[2] for url in kept] == ["offline.html"]
        await page.reload()
        await page.context.set_offline(offline=True)
        await page.goto(f"{house.url}/")
        await expect(page.get_by_text("The gateway cannot be reached")).to_be_visible()
        await page.context.set_offline(offline=False)
        await page.get_by_role("link", name="Try again").click()
        await expect(page.get_by_role("navigation", name="Views")).to_be_visible()
        house.complaints.clear()  # browsers note what could not be had


FAKED = """(device) => {
    window.device = device;
    PushManager.prototype.subscribe = async function () {
        const unsubscribe = async () => {
            PushManager.prototype.getSubscription = async () => null;
            return true;
        };
        const made = { ...window.device, unsubscribe };
        made.toJSON = () => window.device;
        PushManager.prototype.getSubscription = async () => made;
        return made;
    };
}"""
"""A browser without its maker's push service: what that gives a subscription is given here."""


async def test_an_approval_is_shown_while_the_page_is_closed(tmp_path: Path) -> None:
    async with (
        PushServer().serving() as service,
        opened(tmp_path, web='[tools.web]\nallow_private = ["127.0.0.1"]') as house,
        house.looking() as page,
    ):
        device = PushedBrowser(f"{service.url}/device")
        await page.context.grant_permissions(["notifications"])
        await page.evaluate(READY)
        await page.evaluate(FAKED, device.subscription)
        await page.evaluate("() => { location.hash = '#/settings/appearance' }")
        await page.get_by_role("button", name="Notify me on this device").click()
        await expect(page.get_by_role("button", name="Stop notifying")).to_be_visible()
        await page.evaluate("() => { location.hash = '#/chat/web:asked' }")
        call = json.dumps({"command": "git push --force origin main"})
        await page.get_by_label("Message", exact=True).fill(f"tool:exec:{call}\nsay:done")
        await page.keyboard.press("Enter")
        _, body = await service.next()
        told = device.read(body)
        assert (told["kind"], told["session"]) == ("approval", "web:asked")
        shown = await _delivered(house, page, told)
        assert shown == ["A call waits for your approval."]
        await page.evaluate("() => { location.hash = '#/settings/appearance' }")
        await page.get_by_role("button", name="Stop notifying").click()
        await expect(page.get_by_role("button", name="Notify me")).to_be_visible()


LASTING = """(device) => {
    const made = { ...device, toJSON: () => device, unsubscribe: async () => {
        localStorage.removeItem('made');
        return true;
    } };
    PushManager.prototype.getSubscription = async () =>
        localStorage.getItem('made') ? made : null;
    PushManager.prototype.subscribe = async () => (localStorage.setItem('made', '1'), made);
}"""
"""The same, for a subscription that outlives the page."""


async def test_notifications_go_on_after_logging_in_again(tmp_path: Path) -> None:
    async with (
        PushServer().serving() as service,
        opened(tmp_path, web='[tools.web]\nallow_private = ["127.0.0.1"]') as house,
        house.looking() as page,
    ):
        device = PushedBrowser(f"{service.url}/device")
        script = f"({LASTING})({json.dumps(device.subscription)})"
        await page.context.add_init_script(script)
        await page.context.grant_permissions(["notifications"])
        await page.goto(f"{house.url}/#/settings/appearance")
        await page.reload()
        await page.get_by_role("button", name="Notify me on this device").click()
        await expect(page.get_by_role("button", name="Stop notifying")).to_be_visible()
        ended = await house.world.run("web", "tokens", "revoke", "browser")
        assert ended.code == 0, ended.errors
        async with page.expect_response("**/api/push/subscribe") as renewed:
            await page.goto("about:blank")
            await page.goto(await house.link())
        assert (await renewed.value).ok
        ended = await house.world.run("agent", "-m", "say:hello", "--session", "web:desk")
        assert ended.code == 0, ended.errors
        assert device.read((await service.next())[1])["kind"] == "answer"
        house.complaints.clear()


async def _delivered(house: House, page: Page, message: object) -> list[str]:
    """What the device shows once the push service handed it that message."""
    session = await page.context.new_cdp_session(page)
    found: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def note(event: dict[str, list[dict[str, str]]]) -> None:
        for version in event["versions"]:
            # A push to a worker that is not active yet is dropped.
            if version["status"] == "activated" and not found.done():
                found.set_result(version["registrationId"])

    session.on("ServiceWorker.workerVersionUpdated", note)
    await session.send("ServiceWorker.enable")
    async with asyncio.timeout(10):
        number = await found
    await session.send(
        "ServiceWorker.deliverPushMessage",
        {"origin": house.url, "registrationId": number, "data": json.dumps(message)},
    )
    shown: list[str] = await page.evaluate(
        """async () => {
            const worker = await navigator.serviceWorker.ready;
            for (let turn = 0; turn < 100; turn += 1) {
                const all = await worker.getNotifications();
                if (all.length) return all.map(({ body }) => body);
                await new Promise((done) => setTimeout(done, 50));
            }
            return [];
        }"""
    )
    return shown
