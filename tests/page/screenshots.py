"""The pictures of the page in docs/pictures, taken anew: `python -m tests.page.screenshots`."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright

from tests.doubles.openai_server import Answer
from tests.page.conftest import CHROMIUM, House
from tests.process.harness import World, open_world

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
PLATFORMS = ("Telegram", "Discord", "Slack", "Matrix", "E-mail", "WhatsApp", "Mattermost")
_FLIGHTS = """\
The cheapest way to **Lisbon** in May:

| Day | Airport | Price |
|---|---|---:|
| Monday 4 | Berlin | 89 € |
| Wednesday 6 | Berlin | **64 €** |
| Friday 8 | Leipzig | 112 € |

- [x] compared three airlines
- [ ] book, once you say so

```python
def best(prices: dict[str, int]) -> str:
    \"\"\"The cheapest day.\"\"\"
    return min(prices, key=prices.get)
```

I have put it into `notes/lisbon.md`."""
_SAID = {
    "web:lisbon": "When is it cheapest to fly to Lisbon in May?",
    "web:release": "Push the release branch, whatever is there",
    "web:garden": "What does the garden need this week?",
    "web:review": "Sum up what we decided about the budget",
}
_JOBS = [("0 8 * * 1-5", "Morning briefing"), ("every 6 hours", "Look at the builds"),
         ("30 17 * * 5", "Weekly report"), ("0 10 * * 6", "Water the plants")]  # fmt: skip


def _answer(body: dict[str, Any]) -> Answer:
    last = body["messages"][-1]
    text = str(last.get("content"))
    if last["role"] == "tool":
        return Answer(text=_FLIGHTS, pace=0.02)
    if "Lisbon" in text:
        note = '{"path": "notes/lisbon.md", "content": "Wednesday 6 May, 64 EUR"}'
        return Answer(tool_calls=[("write_file", note), ("list_dir", '{"path": "notes"}')])
    if "release" in text:
        return Answer(tool_calls=[("exec", '{"command": "git push --force origin release"}')])
    return Answer(text="Water on Tuesday, and the tomatoes want to be tied up.", pace=0.01)


def _without_chats(config: Path) -> None:
    """As for somebody who connects the first one."""
    before, _, rest = config.read_text("utf-8").partition("[channels.telegram]")
    config.write_text(f"{before}[web]{rest.partition('[web]')[2]}", "utf-8")


async def _fill(world: World) -> None:
    for session, text in _SAID.items():
        ended = await world.run("send", "--session", session.replace("web:", "cli:"), text)
        assert ended.code == 0, ended.errors
    for schedule, name in _JOBS:
        await world.run("cron", "add", "--name", name, "--schedule", schedule, name)
    await asyncio.sleep(4)


async def _take(house: House) -> None:
    async with house.looking("chat/cli:lisbon") as page:
        await page.wait_for_timeout(1_500)
        await page.screenshot(path=PICTURES / "page-chat.png")
        await page.get_by_role("link", name="Show the run").last.click(force=True)
        await page.wait_for_timeout(1_000)
        await page.screenshot(path=PICTURES / "page-run.png")
    async with house.looking("schedule", scheme="dark") as page:
        await page.get_by_role("button", name="The coming week").click()
        await page.wait_for_timeout(1_500)
        await page.screenshot(path=PICTURES / "page-week.png")
    for platform in PLATFORMS:
        async with house.looking("channels", size=(720, 1_400)) as page:
            await page.get_by_role("button", name="Connect a chat").click()
            dialog = page.get_by_role("dialog")
            await dialog.get_by_role("button", name=platform, exact=True).click()
            await dialog.get_by_text("Try it, and keep it").wait_for()
            await page.wait_for_timeout(500)
            await dialog.screenshot(path=PICTURES / f"connect-{platform.lower()}.png")
    async with house.looking("chat/cli:release", size=(390, 780), scheme="dark") as page:
        await page.wait_for_timeout(1_500)
        await page.screenshot(path=PICTURES / "page-phone.png")


async def main() -> None:
    """Fill a home, look at it, and keep what is seen."""
    with tempfile.TemporaryDirectory(prefix="page") as folder:
        async with open_world(Path(folder)) as world, async_playwright() as playwright:
            world.model.script = _answer
            world.configure(more="[web]\nport = 0")
            _without_chats(world.home / "config.toml")
            line = await (await world.launch()).ready()
            url = next(word[4:] for word in line.split() if word.startswith("web="))
            await _fill(world)
            browser = await playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox"]
            )
            await _take(House(world, browser, url))
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
