"""What the page shows can be read: with text twice as large, from right to left, on paper."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

import pypdf
import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.page.conftest import BROWSER_OPTIONS, CHROMIUM
from tests.page.furnishing import LONG, RIGHT, Furnished, furnished
from tests.page.places import ALL
from tests.page.pressing import answering
from tests.page.test_looking import opened_at

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)

SQUEEZED = """() => {
  const found = [];
  // As on a machine that is slow: the test's may be, and was.
  for (const each of document.querySelectorAll('.tile small')) each.className = 'state wait';
  const shown = (node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && !node.closest('.hidden, .skip, pre, .uplot, [aria-hidden=true]');
  const told = (node) => `${node.tagName.toLowerCase()}.${node.className}`.slice(0, 60);
  for (const each of document.querySelectorAll('input, textarea')) {
    const letter = parseFloat(getComputedStyle(each).fontSize);
    if (!shown(each) || ['checkbox', 'radio', 'file', 'number'].includes(each.type)) continue;
    if (each.clientWidth < 5 * letter) found.push(`a field for few letters: ${told(each)}`);
  }
  // Where a text is seen: within all that cuts off what is beyond it.
  const seen = (node, rect) => {
    let { left, right, top, bottom } = rect;
    for (let each = node; each; each = each.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(each);
      const frame = each.getBoundingClientRect();
      if (overflowX !== 'visible') {
        left = Math.max(left, frame.left);
        right = Math.min(right, frame.right);
      }
      if (overflowY !== 'visible') {
        top = Math.max(top, frame.top);
        bottom = Math.min(bottom, frame.bottom);
      }
    }
    return { left, right, top, bottom };
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    const parent = text.parentElement;
    if (!text.data.trim() || !shown(parent) || parent.closest('option, script, noscript')) continue;
    const range = document.createRange();
    for (const word of text.data.matchAll(/(?<![\\w.:/_~-])[A-Za-z]{2,10}(?![\\w.:/_~-])/g)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) found.push(`"${word[0]}" is broken in ${told(parent)}`);
    }
    range.selectNodeContents(text);
    for (const rect of range.getClientRects()) {
      const { left, right, top, bottom } = seen(parent, rect);
      if (right - left > 2 && bottom - top > 2) texts.push({ parent, left, right, top, bottom });
    }
  }
  const layer = (node) => node.closest('dialog, nav, .above, .notices, .jump, .mark');
  texts.forEach((one, index) => {
    for (const other of texts.slice(index + 1)) {
      if (one.parent === other.parent || layer(one.parent) !== layer(other.parent)) continue;
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      const line = Math.min(one.bottom - one.top, other.bottom - other.top);
      if (wide > 3 && high > line / 3)
        found.push(`${told(one.parent)} lies over ${told(other.parent)}`);
    }
  });
  return [...new Set(found)];
}"""
"""What cannot be read or written where it is: short words that are broken, texts over texts."""

READ = """(text) => {
  const all = { right: [], wrong: [] };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const begin = node.data.indexOf(text);
    if (begin < 0 || /[a-z]/i.test(node.data.slice(0, begin))) continue;
    if (!node.parentElement.checkVisibility() || node.parentElement.closest('option')) continue;
    const at = (index) => {
      const range = document.createRange();
      range.setStart(node, begin + index);
      range.setEnd(node, begin + index + 1);
      return range.getBoundingClientRect();
    };
    const [first, last] = [at(0), at(text.length - 1)];
    if (Math.abs(first.top - last.top) > first.height / 2) continue;  // in two lines
    const name = `${node.parentElement.tagName.toLowerCase()}.${node.parentElement.className}`;
    all[last.left < first.left ? 'right' : 'wrong'].push(name);
  }
  for (const each of document.querySelectorAll('input, textarea'))
    if (getComputedStyle(each).unicodeBidi !== 'plaintext') all.wrong.push(each.tagName);
  return all;
}"""
"""Where the text ends at the left of its beginning, and where it does not."""

CUT_OFF = """() => [...document.querySelectorAll('#app *')].filter((each) => {
  const { overflowX, overflowY } = getComputedStyle(each);
  if (!each.checkVisibility() || each.closest('.hidden, .uplot, input, textarea')) return false;
  return (overflowX !== 'visible' && each.scrollWidth > each.clientWidth + 1)
    || (overflowY !== 'visible' && each.scrollHeight > each.clientHeight + 1);
}).map((each) => `${each.tagName} ${each.className}: ${each.innerText.slice(0, 30)}`)"""
LIGHT = "() => getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'"
A4 = {"width": 794, "height": 1123}
REFUSAL = '{"error": {"code": "conflict", "message": "Not while it snows."}}'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Furnished]:
    async with furnished(tmp_path_factory.mktemp("reading")) as house:
        yield house


async def places(there: Furnished) -> list[str]:
    """All views, and conversations and runs in which something was said."""
    said = ("web:files", "web:right", f"web:{LONG[:60]}")
    rows = [(await there.read("runs list", session=key, limit=1))[0] for key in said]
    opened = [f"chat/{key}" for key in (*said, "web:asked")]
    return [*ALL, *opened, *(f"runs/{row['id']}" for row in rows)]


@pytest.mark.parametrize("percent", [100, 200])
@pytest.mark.parametrize("width", [390, 1280])
async def test_nothing_is_squeezed(there: Furnished, width: int, percent: int) -> None:
    usual = there.house.browser
    size = f"--blink-settings=defaultFontSize={16 * percent // 100}"
    there.house.browser = await usual.browser_type.launch(
        executable_path=CHROMIUM, args=[*BROWSER_OPTIONS, size]
    )
    squeezed = {}
    try:
        async with there.somebody("owner", width) as context:
            page = await context.new_page()
            for place in await places(there):
                await opened_at(there.house, page, place)
                if found := await page.evaluate(SQUEEZED):
                    squeezed[place] = found
    finally:
        await there.house.browser.close()
        there.house.browser = usual
    assert squeezed == {}


async def test_a_text_ends_at_the_left_of_its_beginning(there: Furnished) -> None:
    seen: list[str] = []
    wrong: dict[str, list[str]] = {}
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        for place in await places(there):
            await opened_at(there.house, page, place)
            found = await page.evaluate(READ, RIGHT)
            seen += found["right"]
            wrong |= {place: found["wrong"]} if found["wrong"] else {}
    assert wrong == {}
    assert len(seen) > 10


async def test_a_list_in_arabic_begins_at_the_right(there: Furnished) -> None:
    await there.say("web:right", f"say:- {RIGHT}")
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/chat/web:right")
        shown = page.locator(".markdown li").last
        await expect(shown).to_have_text(RIGHT)
        assert await shown.evaluate("(each) => getComputedStyle(each).direction") == "rtl"


async def test_no_view_is_cut_off_on_paper(there: Furnished) -> None:
    cut = {}
    async with there.somebody("owner", A4["width"]) as context:
        page = await context.new_page()
        await page.add_init_script("localStorage.setItem('theme', 'dark')")
        await page.emulate_media(media="print")
        for place in await places(there):
            await opened_at(there.house, page, place)
            assert await page.evaluate(LIGHT), place
            for pressed in await page.locator(".button, .composer, nav[aria-label=Views]").all():
                assert not await pressed.is_visible(), place
            if found := await page.evaluate(CUT_OFF):
                cut[place] = found
    assert cut == {}


async def test_a_conversation_is_printed_with_all_that_is_loaded(there: Furnished) -> None:
    for number in range(12):
        await there.say("web:printed", f"say:answer {number} " + "and so on " * 150)
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.goto(f"{there.house.url}/#/chat/web:printed")
        await expect(page.get_by_text("answer 11").last).to_be_visible()
        printed = pypdf.PdfReader(io.BytesIO(await page.pdf(format="A4")))
    text = " ".join(" ".join(each.extract_text().split()) for each in printed.pages)
    assert len(printed.pages) > 2
    assert [number for number in range(12) if f"answer {number} and" not in text] == []
    assert "Write a message" not in text
    assert "Start over" not in text


@pytest.mark.parametrize("width", [390, 1280])
async def test_a_notice_with_a_long_word_can_be_closed(there: Furnished, width: int) -> None:
    """As of an error that names a file: its path pushed what closes it off the screen."""
    async with there.somebody("owner", width) as context:
        page = await context.new_page()
        refusal = REFUSAL.replace("Not while it snows.", f"/home/{LONG}/config.toml: no.")
        await page.route("**/api/cron/pause", answering(409, refusal))
        await page.goto(f"{there.house.url}/#/schedule")
        await page.get_by_role("row").filter(has_text="Builds 2").get_by_label("Pause").click()
        notice = page.locator(".notice")
        await expect(notice).to_be_in_viewport(ratio=1)
        await notice.get_by_role("button").click(timeout=5_000)
        await expect(notice).to_have_count(0)


@pytest.mark.parametrize("by", ["pointer", "keyboard"])
async def test_a_notice_stays_while_somebody_is_at_it(there: Furnished, by: str) -> None:
    async with there.somebody("owner", 1280) as context:
        page = await context.new_page()
        await page.clock.install()
        await page.route("**/api/cron/pause", answering(409, REFUSAL))
        await page.goto(f"{there.house.url}/#/schedule")
        await page.get_by_role("row").filter(has_text="Builds 2").get_by_label("Pause").click()
        notice = page.locator(".notice")
        await expect(notice).to_be_visible()
        await (notice.hover() if by == "pointer" else notice.get_by_role("button").focus())
        await page.clock.run_for(60_000)
        await expect(notice).to_be_visible()
        await page.get_by_role("heading", name="Schedule").hover()
        await page.locator("main").focus()
        await page.clock.run_for(2_000)
        await expect(notice).to_have_count(0)
