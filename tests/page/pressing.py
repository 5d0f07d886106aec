"""Presses whatever can be pressed on the page, found in the document and not listed by hand.

A crawl looks at places (`schedule`, `settings/keys` ...). At each it presses one control of each
kind, and then the new ones that this brought, as in a dialog. Before the next one the page leaves
the place and comes back, or is loaded anew where that leaves something behind. What a press caused
and should not have is a line of `faults`.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from playwright.async_api import Error, Page, Request, Response, Route

_QUIET_SECONDS = 0.15
_LONGEST_SECONDS = 20.0
_CLICK_MS = 5_000
_DEPTH = 3
_MOST_PLACES = 60
"""A page that brings new places for ever would not end."""

_MADE = re.compile(r"[0-9a-z]{20,}|m(?=[a-z]*\d)[0-9a-z]{7}$|\d+")
"""What is made up in the name of a place: each press on "+" makes a conversation of its own."""

RESTLESS = "it does not come to rest"
_LATE = re.compile(rf"{RESTLESS}|Timeout \d+ms exceeded")

SAMPLES = {
    "number": "7",
    "url": "http://127.0.0.1:9/v1",
    "zone": "America/New_York",
    "schedule": "every 2 hours",
    "model": "test/scripted",
    "file": "",
}
"""What is written into a field, by its kind or a word of its name; else a text."""

CONTROLS = """() => {
  for (const each of document.querySelectorAll('[data-press]')) delete each.dataset.press;
  if (!document.body) return [];  // it is being loaded
  const top = [...document.querySelectorAll('dialog[open]')].at(-1);
  const root = top ?? document.body;
  const found = root.querySelectorAll(
    'button, a[href], select, input, textarea, summary, [role=option]');
  const name = (each) => (each.getAttribute('aria-label') || each.innerText?.trim()
    || each.closest('label')?.innerText.trim() || each.placeholder || '').split('\\n')[0];
  const all = [...found].filter((each) => each.checkVisibility({ visibilityProperty: true })
    && !each.disabled && each.getClientRects().length && !each.closest('[aria-hidden=true]'));
  const rowOf = (each) => !each.closest('nav') && each.closest('tr, li, article, details');
  const many = new Map();
  for (const each of all) {
    const key = `${each.tagName} ${name(each)}`;
    many.set(key, (many.get(key) ?? 0) + 1);
  }
  return all.map((each, index) => {
    each.dataset.press = index;
    const own = !rowOf(each) || many.get(`${each.tagName} ${name(each)}`) > 1;
    const place = each.closest('dialog') ?? each.closest('nav, section, form, main');
    const frame = (place?.getAttribute('aria-label') ?? '').split(' ')[0];
    const kind = [each.tagName, each.type ?? '', each.className, frame,
      own ? name(each).replace(/\\d+/g, '#') : ''].join('|');
    const chosen = each.getAttribute('aria-pressed') === 'true'
      || each.hasAttribute('aria-current') || name(each) === 'Copied';  // for a moment
    return { number: index, kind, name: name(each), tag: each.tagName, type: each.type ?? '',
      chosen, everywhere: each.tagName === 'A' || Boolean(each.closest('nav')),
      outside: each.target === '_blank', hidden: each.classList.contains('skip') };
  });
}"""
STATE = """() => {
  const copy = document.body.cloneNode(true);
  for (const each of copy.querySelectorAll('time, .when, small')) each.textContent = '';
  for (const each of copy.querySelectorAll('[data-press]')) each.removeAttribute('data-press');
  const values = [...document.querySelectorAll('input, select, textarea, details')];
  return [location.hash, copy.innerHTML, document.activeElement?.outerHTML.slice(0, 200),
    document.querySelector('main')?.scrollTop, scrollY,
    ...[...document.querySelectorAll('*')].map((each) => each.scrollTop).filter(Boolean),
    ...values.map((each) => each.type === 'checkbox' || each.type === 'radio' ? each.checked
      : (each.value ?? each.open))].join('\\u0000');
}"""
SIDEWAYS = """() => [document.documentElement, document.querySelector('main')].some(
  (each) => each && each.scrollWidth > each.clientWidth)"""
WHERE = "() => [decodeURIComponent(location.hash.slice(2)), document.documentElement.lang]"
LEFT = """(hash) => {
  localStorage.clear();
  sessionStorage.clear();
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)));
  location.hash = hash === '#/settings/appearance' ? '#/settings/access' : '#/settings/appearance';
  return drawn().then(() => {
    const elsewhere = document.querySelector('main')?.dataset.view === 'settings';
    location.hash = hash;
    return drawn().then(() => elsewhere);
  });
}"""
"""Goes elsewhere and to a place: what belongs to a view is made anew, and no file is loaded."""
LOOKS = "() => document.documentElement.lang + document.documentElement.dataset.theme"
SETTLED = """() => document.readyState === 'complete'
  && !document.querySelector('.loading, [aria-busy=true]:not(article)')"""


class Control(NamedTuple):
    """Something that can be pressed, as it was found."""

    number: int
    kind: str
    name: str
    tag: str
    type: str
    chosen: bool
    everywhere: bool
    outside: bool
    hidden: bool


class Traffic:
    """What a page asks for, and what it complains of."""

    def __init__(self, page: Page) -> None:
        self.faults: list[str] = []
        self.refused: list[str] = []
        self.asked: list[str] = []
        self.saved = 0
        self._open: set[Request] = set()
        self._last = 0.0
        page.on("request", self._begun)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._ended)
        page.on("response", self._answered)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"error in the page: {error}"))
        page.on("download", lambda _: self._saved())
        page.on("dialog", lambda dialog: dialog.accept())

    def clear(self) -> None:
        self.faults, self.refused, self.asked, self.saved = [], [], [], 0

    async def settled(self, page: Page) -> None:
        """Until nothing is asked for and nothing is on its way."""
        end = time.monotonic() + _LONGEST_SECONDS
        while time.monotonic() < end:
            still = not self._open and time.monotonic() - self._last > _QUIET_SECONDS
            if still and await page.evaluate(SETTLED):
                return
            await asyncio.sleep(0.02)
        self.faults.append(RESTLESS)

    def _saved(self) -> None:
        self.saved += 1

    def _begun(self, request: Request) -> None:
        self._last = time.monotonic()
        self._open.add(request)
        self.asked.append(f"{request.method} {request.url}")

    def _ended(self, request: Request) -> None:
        self._last = time.monotonic()
        self._open.discard(request)

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            path = re.sub(r"https?://[^/]+", "", response.url)
            self.refused.append(f"{response.status} {response.request.method} {path}")

    def _said(self, message: Any) -> None:
        # Refusals are counted where they come; what cleans texts is noted by browsers.
        place = message.location.get("url", "")
        known = "Failed to load resource" in message.text or place.endswith("/dompurify.js")
        if message.type == "error" and not known:
            self.faults.append(f"console: {message.text}")


Prepare = Callable[[], Awaitable[None]]


class Crawl:
    """Presses what is at each place that can be reached. `before` makes ready what a place needs,
    by the beginning of its name; `answers` stand in for what leaves this machine or ends it."""

    def __init__(
        self,
        page: Page,
        url: str,
        *,
        before: Mapping[str, Prepare] | None = None,
        answers: Mapping[str, tuple[int, str]] | None = None,
        most: int,
    ) -> None:
        self.faults: list[str] = []
        self.pressed: list[str] = []
        self.missed: list[str] = []
        self.places: list[str] = []
        self._page = page
        self._url = url
        self._before = before or {}
        self._answers = answers or {}
        self._most = most
        self._traffic = Traffic(page)
        self._kinds: set[str] = set()
        self._seen: set[str] = set()
        self._left: deque[str] = deque()
        self._fresh: dict[str, list[str]] = {}
        """What is at a place, and how it looks, once it is loaded."""
        self._standing: tuple[str, tuple[Control, ...]] | None = None
        """The place and the presses that led to what the page shows now."""

    async def run(self, *places: str, only: bool = False) -> None:
        """Press everything at these places, and at those that they lead to (not if `only`)."""
        for path, answer in self._answers.items():
            await self._page.route(f"**{path}", answering(*answer))
        for place in places:
            self._found(place)
        while self._left:
            place = self._left.popleft()
            self.places.append(place)
            await self._place(place)
            if only and len(self.places) >= len(places):
                return

    async def open(self, place: str) -> None:
        """A place as somebody sees it who comes to it with a fresh browser."""
        for beginning, prepare in self._before.items():
            if place.startswith(beginning):
                await prepare()
        if place in self._fresh and await self._returned(place):
            self._traffic.clear()
            return
        if self._page.url.startswith(self._url):
            await self._page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
            await self._page.goto("about:blank")
        await self._page.goto(f"{self._url}/#/{place}")
        await self._page.locator("main > *, form").first.wait_for()
        await self._traffic.settled(self._page)
        self._traffic.clear()
        self._fresh[place] = await self._looks()

    async def _returned(self, place: str) -> bool:
        """Whether a place is as it is in a page loaded anew, after the page was elsewhere."""
        try:
            if not await self._page.evaluate(LEFT, f"#/{place}"):
                return False
            await self._traffic.settled(self._page)
            return not self._traffic.faults and await self._looks() == self._fresh[place]
        except Error:  # a press has left the page
            return False

    async def _looks(self) -> list[str]:
        kinds = {control.kind for control in await self._controls()}
        return [str(await self._page.evaluate(LOOKS)), *sorted(kinds)]

    def _found(self, place: str) -> None:
        kind = _MADE.sub("#", place)
        if kind not in self._seen and len(self._seen) < _MOST_PLACES:
            self._seen.add(kind)
            self._left.append(place)

    async def _place(self, place: str) -> None:
        paths: deque[tuple[Control, ...]] = deque([()])
        presses = 0
        while paths and presses <= self._most:
            path = paths.popleft()
            presses += 1
            if not await self._reached(place, path):
                continue
            if path:
                faults = await self._judged(place, path)
                late = any(_LATE.search(fault) for fault in faults)
                if late and await self._reached(place, path):
                    # A busy machine is no fault of the page: what is late twice is one.
                    faults = await self._judged(place, path)
                self.faults += faults
            self._standing = None
            if len(path) < _DEPTH and await self._at(place):
                more = [(*path, control) for control in await self._new(place)]
                if more:  # the first one is pressed at once, where the page is now
                    paths.appendleft(more[0])
                    paths += more[1:]
                    self._standing = (place, path)

    async def _reached(self, place: str, path: tuple[Control, ...]) -> bool:
        """Open a place anew, and press all but the last of a path; whether they were there."""
        standing, self._standing = self._standing, None
        if standing == (place, path[:-1]):
            return True
        await self.open(place)
        for control in path[:-1]:
            if not await self._again(control):
                return False
            await self._traffic.settled(self._page)
        return True

    async def _at(self, place: str) -> bool:
        """Whether it is the same place still; another one is looked at in its turn."""
        now, language = await self._page.evaluate(WHERE)
        if now and now != place:
            self._found(str(now))
        return bool(now in (place, "") and language == "en")

    async def _controls(self) -> list[Control]:
        return [Control(**each) for each in await self._page.evaluate(CONTROLS)]

    async def _new(self, place: str) -> list[Control]:
        found = []
        for control in await self._controls():
            kind = control.kind if control.everywhere else f"{place} {control.kind}"
            if kind not in self._kinds and not control.chosen:
                self._kinds.add(kind)
                found.append(control)
        return found

    async def _again(self, control: Control) -> bool:
        """Press it where it is now; False if it is not there any more."""
        for each in await self._controls():
            if each.kind == control.kind:
                await self._act(each)
                return True
        return False

    async def _judged(self, place: str, path: tuple[Control, ...]) -> list[str]:
        """Press the last of a path, and say what was wrong with that."""
        label = f"{place}: {' > '.join(each.name or each.kind for each in path)}"
        before = await self._page.evaluate(STATE)
        self._traffic.clear()
        try:
            if not await self._again(path[-1]):
                self.missed.append(label)
                return []
            await self._traffic.settled(self._page)
            after = await self._page.evaluate(STATE)
        except Error as error:
            if path[-1].kind not in {each.kind for each in await self._controls()}:
                self.missed.append(label)  # it went while it was looked for
                return []
            return [f"{label}: {error.message.splitlines()[0]}"]
        self.pressed.append(label)
        traffic = self._traffic
        posted = any(not line.startswith("GET") for line in traffic.asked)
        faults = [*traffic.faults]
        if before == after and not posted and not traffic.saved:
            faults.append("nothing happened")
        if await self._page.evaluate(SIDEWAYS):
            faults.append("wider than the screen")
        explained = await self._page.locator(".notice.bad, [role=alert]").count()
        for line in traffic.refused:
            if line[:3] in ("400", "404", "409", "502") and explained:
                continue
            faults.append(line)
        return [f"{label}: {fault}" for fault in faults]

    async def _act(self, control: Control) -> None:
        element = self._page.locator(f"[data-press='{control.number}']")
        if control.tag == "SELECT":
            values = await element.evaluate("(each) => [...each.options].map((one) => one.value)")
            now = await element.input_value()
            await element.select_option(next((v for v in values if v != now), now))
        elif control.tag == "TEXTAREA" or (
            control.tag == "INPUT" and control.type not in ("checkbox", "radio", "file")
        ):
            await self._write(element)
        elif control.type == "file":
            await element.set_input_files(
                {"name": "a.txt", "mimeType": "text/plain", "buffer": b"text"}
            )
        elif control.hidden:  # until it has the focus
            await element.focus()
            await element.press("Enter")
        elif control.outside:
            await element.evaluate("(each) => each.removeAttribute('target')")
            await element.evaluate("(each) => each.setAttribute('download', '')")
            await element.click(timeout=_CLICK_MS)
        else:
            await element.click(timeout=_CLICK_MS)

    async def _write(self, element: Any) -> None:
        """Fill the field, and the empty ones that belong to it: a form is sent as a whole."""
        form = element.locator("xpath=ancestor-or-self::*[self::form or self::dialog][1]")
        fields = form.locator("input:not([type=checkbox],[type=radio],[type=file]), textarea")
        await element.fill(await _sample(element))
        if await form.count():
            for index in range(await fields.count()):
                field = fields.nth(index)
                if await field.is_editable() and not await field.input_value():
                    await field.fill(await _sample(field))


async def _sample(field: Any) -> str:
    about = await field.evaluate(
        "(each) => `${each.type} ${each.name} ${each.closest('label')?.innerText ?? ''} "
        "${each.ariaLabel ?? ''} ${each.placeholder}`.toLowerCase()"
    )
    if "when" in about.split():
        return SAMPLES["schedule"]
    return next((text for word, text in SAMPLES.items() if word in about), "a text")


def answering(status: int, body: str) -> Callable[[Route], Awaitable[None]]:
    """What stands in for an answer of the gateway."""

    async def answer(route: Route) -> None:
        await route.fulfill(status=status, body=body, content_type="application/json")

    return answer


async def try_again(page: Page, lost: str | re.Pattern[str]) -> None:
    """Let what was lost be there, and ask for it. The page asks by itself, too: if it is faster,
    the button is gone. That the button asks at once is tested in test_no_answer.
    """
    await page.unroute(lost)
    with suppress(Error):
        await page.get_by_role("button", name="Try again").click(timeout=2_000)
