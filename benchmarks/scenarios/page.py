"""What a person waits for who opens the page: in a real browser, where there is one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.filled import fill_home
from benchmarks.filled_rows import Size
from benchmarks.stage import Stage, Subject
from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.plugins.common.http.access import Access
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import ScriptedProvider

if TYPE_CHECKING:
    from playwright.async_api import Page

TIMES = 5
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_FIRST = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_SHOWN = "globalThis.shown"
# When the frame was made in which the first of them is, which nobody who asks from outside knows.
_LOOKING = """globalThis.shown = new Promise((tell) => {
    const looking = new MutationObserver(() => {
        if (!document.querySelector(".conversations li")) return;
        looking.disconnect();
        requestAnimationFrame(() => setTimeout(() => tell(performance.now())));
    });
    looking.observe(document, { subtree: true, childList: true });
})"""
_BYTES = """['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))
    .reduce((sum, each) => sum + each.transferSize, 0)"""


async def page(stage: Stage, _: Subject) -> Sample:
    """Chromium opens the page over a store that is years old, without and with files in its cache:
    ms to the first paint and to the first conversations, and kB transferred. Skipped without a
    browser."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None or find_spec("playwright") is None:
        print("page: no chromium or no playwright here, so it is left out", file=sys.stderr)
        return {}
    from playwright.async_api import async_playwright  # noqa: PLC0415 - not everywhere

    home = stage.home()
    await fill_home(home, Size(*stage.effort.filled))
    async with _served(home) as parts, async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        try:
            tab = await (await running.new_context()).new_page()
            await tab.goto(parts.plugged.offers.get(Access).link().url)
            await tab.locator(".conversations li").first.wait_for()
            await tab.add_init_script(_LOOKING)
            session = await tab.context.new_cdp_session(tab)
            kept = [await _opened(tab, parts.http.url) for _ in range(TIMES)]
            fresh: list[tuple[float, float, float]] = []
            while len(fresh) < TIMES:
                await session.send("Network.clearBrowserCache")
                fresh.append(await _opened(tab, parts.http.url))
        finally:
            await running.close()
    return {
        "paint": _middle([each[0] for each in fresh]),
        "list": _middle([each[1] for each in fresh]),
        "again": _middle([each[1] for each in kept]),
        "size": _middle([each[2] for each in fresh]),
    }


async def _opened(tab: Page, url: str) -> tuple[float, float, float]:
    """ms to the first paint and to the list, kB in all."""
    await tab.goto("about:blank")
    await tab.goto(f"{url}/#/chat")
    shown = float(await tab.evaluate(_SHOWN))
    await tab.wait_for_load_state("networkidle")
    return float(await tab.evaluate(_FIRST)), shown, float(await tab.evaluate(_BYTES)) / 1e3


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


@asynccontextmanager
async def _served(home: Path) -> AsyncIterator[Parts]:
    environ = {"NANOBOT_HOME": str(home), "NANOBOT_WEB__PORT": "0"}
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
