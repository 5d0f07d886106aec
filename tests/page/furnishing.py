"""A gateway with something of everything, and people of each role who look at its page."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
from playwright.async_api import BrowserContext

from tests.page.conftest import PATIENCE_MS, House, opened

ROLES = ("owner", "member", "guest")
ZONE = "America/New_York"
ASKS = 'tool:exec:{"command": "git push --force origin NAME"}\nsay:Pushed.'
LONG = "pneumonoultramicroscopicsilicovolcanoconiosis" * 5
"""A word that fits on no phone."""
RIGHT = "مرحبا (abc) שלום!"
"""It begins at the right, and ends with its exclamation mark at the left."""
FORMULA = "The area is $\\pi r^2$ of `math.tau / 2`:\n\n```python\nprint(2)\n```"


class Furnished:
    """A house with a filled store. Operations are called as its owner, over HTTP."""

    def __init__(self, house: House, session: aiohttp.ClientSession, token: str) -> None:
        self.house = house
        self.tokens = {"owner": token}
        self._session = session
        self._numbers = count(1)

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """What an operation that changes something gives."""
        return await self._ask("POST", f"/api/{name.replace(' ', '/')}", "owner", json=arguments)

    async def read(self, name: str, /, **arguments: Any) -> Any:
        """What an operation that reads gives."""
        given = {key: str(value) for key, value in arguments.items()}
        return await self._ask("GET", f"/api/{name.replace(' ', '/')}", "owner", params=given)

    async def say(self, session: str, text: str, role: str = "owner") -> None:
        """Say something in a conversation of the page."""
        path = f"/api/sessions/{session}/messages"
        await self._ask("POST", path, role, json={"text": text})

    async def own_session(self, role: str) -> str:
        """The conversation of somebody's own."""
        me = await self._ask("GET", "/api/me", role)
        return str(me["session"])

    async def asked(self, session: str) -> int:
        """The number of a call that waits there for an approval, asked for anew if none does."""
        for attempt in range(60):
            rows = await self.read("approvals list", state="open")
            here = [row["id"] for row in rows if row["session_key"] == session]
            if here:
                return int(here[0])
            if attempt % 20 == 0:
                await self.say(session, ASKS.replace("NAME", f"b{next(self._numbers)}"))
            await asyncio.sleep(0.1)
        raise AssertionError("nothing was asked")

    @asynccontextmanager
    async def somebody(self, role: str, width: int) -> AsyncIterator[BrowserContext]:
        """A browser that was let in, with the clock and the screen of somebody."""
        context = await self.house.browser.new_context(
            locale="en-US",
            timezone_id=ZONE,
            viewport={"width": width, "height": 844},
            permissions=["clipboard-read", "clipboard-write"],
        )
        context.set_default_timeout(PATIENCE_MS)
        url = f"{self.house.url}/api/login"
        origin = {"Origin": re.sub(r"(?<=\d)/.*", "", self.house.url)}
        answer = await context.request.post(url, data={"secret": self.tokens[role]}, headers=origin)
        assert answer.ok, await answer.text()
        try:
            yield context
        finally:
            await context.close()

    async def _ask(self, method: str, path: str, role: str, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[role]}"}
        url = f"{self.house.url}{path}"
        async with self._session.request(method, url, headers=headers, **options) as response:
            text = await response.text()
            assert response.status == 200, f"{path}: {text}"
            return json.loads(text)


async def _fill(there: Furnished) -> None:
    for role in ("member", "guest"):
        made = await there.call("web tokens add", name=f"a {role}", role=role)
        there.tokens[role] = made["token"]
        session = await there.own_session(role)
        await there.say(session, f"say:{FORMULA}", role)
    await there.say("web:desk", f"say:{FORMULA}")
    await there.say("web:shelf", "think:Let me see.\nsay:It is on the shelf.")
    await there.say("web:files", 'tool:list_dir:{"path": "."}\nsay:Those are all files.')
    jobs = [("0 8 * * 1-5", "Morning"), ("every 6 hours", "Builds"), ("30 17 * * 5", "Report")]
    for number in range(3):
        for schedule, name in jobs:
            await there.call("cron add", text=name, schedule=schedule, name=f"{name} {number}")
    await there.call("cron pause", job="Report 0")
    lines = "".join(f"- The garden has {number} apple trees.\n" for number in range(2, 14))
    lines += f"- The plan is at https://example.org/{LONG} and in `{LONG}`.\n"
    await there.call("prompts write", name="MEMORY.md", text=lines, digest="")
    remembered = await there.read("memory list", limit=2)
    table = f"| a | b | c |\n|---|---|---|\n| `{LONG}` | {LONG[:50]} | {LONG[:50]} |"
    code = f"```\n{LONG}\n```\n\n{table}"
    await there.call("memory correct", id=remembered[0]["id"], text=code)
    await there.call("cron add", text=f"Look at {LONG}", schedule="every 3 hours", name=LONG[:60])
    await there.say(f"web:{LONG[:60]}", f"say:{LONG} `{LONG}`")
    fact = json.dumps({"text": "The plums are ripe in August."})
    await there.say(f"web:{LONG[:60]}", f"tool:memory_save:{fact}\nsay:I shall remember that.")
    await there.call("cron add", text=RIGHT, schedule="every 4 hours", name=RIGHT)
    await there.call("memory correct", id=remembered[1]["id"], text=RIGHT)
    await there.say("web:right", f"{RIGHT}\nsay:{RIGHT}")
    there.house.world.telegram.block(7)
    for number in range(4):
        await there.call("notify", chat="telegram:7", text=f"Message {number} that is refused.")
    for stranger in (300, 301, 302):
        there.house.world.telegram.say(stranger, "Hello?")
    for name in ("one", "two", "three"):
        id = await there.asked(f"web:{name}")
        await there.call("approve", id=id, always=True)
    await there.asked("web:asked")


@asynccontextmanager
async def furnished(folder: Path) -> AsyncIterator[Furnished]:
    """A house of its own, with something of everything in its store."""
    async with opened(folder) as house, aiohttp.ClientSession() as session:
        made = await house.world.run(
            "web", "tokens", "add", "an owner", "--role", "owner", "--json"
        )
        assert made.code == 0, made.errors
        there = Furnished(house, session, json.loads(made.output)["token"])
        await _fill(there)
        yield there
