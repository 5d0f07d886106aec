"""The list of conversations while a gateway answers in 50 of them at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.doubles.openai_server import Answer
from tests.page.furnishing import Furnished, furnished

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.slow,
    pytest.mark.timeout(300),
]

CHATS = 50
WITHIN = 1.0
"""Seconds until what happened to a conversation is seen, on a machine at rest."""
PATIENCE = 120.0
CHUNKS = [f"word {number} " for number in range(60)]
WATCH = """() => {
  const seen = { begun: {}, ended: {}, stall: 0, stalls: [] };
  let before = performance.now();
  setInterval(() => {
    const now = performance.now();
    seen.stall = Math.max(seen.stall, now - before - 50);
    before = now;
  }, 50);
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) seen.stalls.push(Math.round(each.duration));
  }).observe({ type: 'longtask' });
  const look = () => {
    const now = Date.now() / 1000;
    for (const row of document.querySelectorAll('.conversations li a')) {
      const key = decodeURIComponent(row.hash.split('/').at(-1));
      if (row.querySelector('.pulse')) seen.begun[key] ??= now;
      else if (seen.begun[key]) seen.ended[key] ??= now;
    }
  };
  new MutationObserver(look).observe(document.body, {
    childList: true, subtree: true, characterData: true, attributes: true });
  look();
  window.seen = seen;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Furnished]:
    async with furnished(tmp_path_factory.mktemp("busy")) as house:
        yield house


async def _all_answered(there: Furnished) -> dict[str, dict[str, Any]]:
    """The runs of the conversations, by those, once all of them have ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            rows = await there.read("runs list", limit=2 * CHATS)
            runs = {row["session_key"]: row for row in rows if ":busy" in row["session_key"]}
            if len(runs) == CHATS and all(row["ended_at"] for row in runs.values()):
                return runs
            await asyncio.sleep(0.5)


async def _slowness(there: Furnished, ended: asyncio.Event) -> list[float]:
    """How long the gateway needs for the list meanwhile, for a client that does nothing else."""
    took = []
    while not ended.is_set():
        began = time.monotonic()
        await there.read("sessions list", limit=200)
        took.append(time.monotonic() - began)
        await asyncio.sleep(0.5)
    return sorted(took)


async def test_the_list_shows_what_happens_within_a_second(there: Furnished) -> None:
    """While one of the answers is looked at. What the machine itself is slow by is allowed."""
    there.house.world.model.script = lambda _: Answer(chunks=CHUNKS, pace=0.05)
    async with there.house.looking("chat/web:busy0", size=(1280, 4_000)) as page:
        await page.locator(".conversations li").first.wait_for()
        await page.evaluate(WATCH)
        ended = asyncio.Event()
        measuring = asyncio.ensure_future(_slowness(there, ended))
        for number in range(CHATS):
            await there.say(f"web:busy{number}", f"Question {number}")
        runs = await _all_answered(there)
        await asyncio.sleep(3)
        ended.set()
        slow = await measuring
        seen = await page.evaluate("() => window.seen")
    late = sorted(seen["ended"].get(key, 1e12) - run["ended_at"] for key, run in runs.items())
    begun = sorted(seen["begun"].get(key, 1e12) - run["created_at"] for key, run in runs.items())
    print(
        f"\nended seen after {late[len(late) // 2]:.2f} s, at most {late[-1]:.2f} s; begun after "
        f"{begun[len(begun) // 2]:.2f} s, at most {begun[-1]:.2f} s; longest stall "
        f"{seen['stall']:.0f} ms, {len(seen['stalls'])} long tasks, the longest "
        f"{max(seen['stalls'], default=0)} ms; the list took {slow[len(slow) // 2]:.2f} s, at most "
        f"{slow[-1]:.2f} s"
    )
    allowed = WITHIN + slow[-1]
    assert late[-1] < allowed
    assert begun[-1] < allowed
    assert seen["stall"] < 1_000 * allowed
