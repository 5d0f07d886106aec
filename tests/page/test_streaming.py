"""A long answer while it grows: drawn once a frame, and only where it grows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.doubles.openai_server import Answer
from tests.page.conftest import House, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=60_000)

PART = """## Part {number}

Some **bold** words about `code` and a [link](https://example.org/{number}), and more of them.

- one thing of {number}
- another thing, which is longer than the first

```python
def part_{number}() -> int:
    return {number}
```

| a | b |
|---|---|
| {number} | **two** |

"""
WHOLE = "".join(PART.format(number=number) for number in range(120))
WATCH = """() => {
  const seen = { frames: 0, draws: 0, most: 0, now: 0, gaps: [], parts: 0, touched: 0, count: 0 };
  let before = performance.now();
  let was = null;
  const frame = (at) => {
    const growing = document.querySelector('.growing .markdown');
    if (growing) {
      if (was) {
        seen.frames += 1;
        seen.gaps.push(at - before);
      }
      seen.most = Math.max(seen.most, seen.now);
      seen.parts = Math.max(seen.parts, growing.children.length);
    }
    was = growing;
    before = at;
    seen.now = 0;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new MutationObserver((changes) => {
    const parts = changes.map(({ target }) => target.closest?.('.growing .part')).filter(Boolean);
    if (!parts.length) return;
    seen.draws += 1;
    seen.now += 1;
    const all = [...document.querySelectorAll('.growing .part')];
    if (parts.some((part) => all.indexOf(part) < seen.count - 1)) seen.touched += 1;
    seen.count = all.length;
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
  window.seen = seen;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with opened(tmp_path_factory.mktemp("streaming")) as there:
        yield there


async def _watched(house: House, chat: str) -> dict[str, Any]:
    """What a page saw while a long answer grew on it."""
    assert len(WHOLE) > 30_000
    chunks = [WHOLE[at : at + 12] for at in range(0, len(WHOLE), 12)]
    house.world.model.script = lambda _: Answer(chunks=chunks, pace=0.001)
    async with house.looking(f"chat/{chat}") as page:
        await page.get_by_label("Message", exact=True).fill("Tell me everything.")
        await page.evaluate(WATCH)
        await page.keyboard.press("Enter")
        answer = page.get_by_label("Answer", exact=True)
        await expect(answer.locator("h2")).to_have_count(120)
        assert await answer.locator("table").count() == 120
        seen: dict[str, Any] = await page.evaluate("() => window.seen")
        return seen


async def test_a_long_answer_is_drawn_once_a_frame_and_only_where_it_grows(house: House) -> None:
    seen = await _watched(house, "web:long")
    assert seen["draws"] > 20
    assert seen["most"] <= 1
    assert seen["parts"] > 300
    assert seen["touched"] == 0


@pytest.mark.slow
async def test_frames_keep_their_rate_meanwhile(house: House) -> None:
    """On a machine at rest: 16.7 ms are 60 frames a second."""
    gaps = sorted((await _watched(house, "web:smooth"))["gaps"])
    assert gaps[len(gaps) // 2] < 50
