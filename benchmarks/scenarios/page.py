"""What a person waits for who opens the page: in a real browser, where there is one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import Stage, Subject
from nanobot.app.assembly import Parts, Program
from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import ScriptedProvider

if TYPE_CHECKING:
    from playwright.async_api import Page

TIMES = 5
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_FIRST = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_SHOWN = "performance.now()"
_BYTES = """['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))
    .reduce((sum, each) => sum + each.transferSize, 0)"""


async def page(stage: Stage, _: Subject) -> Sample:
    """The page of a gateway in the same process, in chromium on loopback: ms until something is
    painted and until the conversations are listed, with nothing known and with its files kept; kB
    transferred for all of it. Left out where there is no browser.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    try:
        from playwright.async_api import async_playwright  # noqa: PLC0415 - not everywhere
    except ImportError:
        browser = None
    if browser is None:
        print("page: no chromium or no playwright here, so it is left out", file=sys.stderr)
        return {}
    async with _served(stage) as parts, async_playwright() as playwright:
        await parts.operations.call("send", {"session": "cli:one", "text": "hello", "key": "1"})
        running = await playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        try:
            tab = await (await running.new_context()).new_page()
            await tab.goto(parts.engine.web.link().url)
            await tab.locator(".conversations li").first.wait_for()
            session = await tab.context.new_cdp_session(tab)
            known = [await _opened(tab, parts.http.url) for _ in range(TIMES)]
            fresh = []
            for _ in range(TIMES):
                await session.send("Network.clearBrowserCache")
                fresh.append(await _opened(tab, parts.http.url))
        finally:
            await running.close()
    return {
        "paint": _middle([each[0] for each in fresh]),
        "list": _middle([each[1] for each in fresh]),
        "again": _middle([each[1] for each in known]),
        "size": _middle([each[2] for each in fresh]),
    }


async def _opened(tab: Page, url: str) -> tuple[float, float, float]:
    """ms to the first paint and to the list, kB in all."""
    await tab.goto("about:blank")
    await tab.goto(f"{url}/#/chat")
    await tab.locator(".conversations li").first.wait_for()
    shown = float(await tab.evaluate(_SHOWN))
    await tab.wait_for_load_state("networkidle")
    return float(await tab.evaluate(_FIRST)), shown, float(await tab.evaluate(_BYTES)) / 1e3


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


@asynccontextmanager
async def _served(stage: Stage) -> AsyncIterator[Parts]:
    environ = {"NANOBOT_HOME": str(stage.home()), "NANOBOT_WEB__PORT": "0"}
    program = Program(provider=OneProvider(ScriptedProvider()))
    gateway = Gateway(load(environ), environ, channels=False, page=True, program=program)
    async with gateway.serving("benchmarks", lambda _line: None) as parts:
        yield parts


PAGE = Scenario(
    "page",
    (
        Measure("paint", "the first paint", "ms"),
        Measure("list", "the conversations are listed", "ms"),
        Measure("again", "the same with its files kept", "ms"),
        Measure("size", "transferred in all", "kB"),
    ),
    page,
    subjects=(Subject.NANOBOT,),
    once=True,
)
