"""What makes a gateway speak besides people: services that call its hooks, and the clock."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from random import Random

import aiohttp

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.signatures import sign
from tests.doubles.telegram_server import TelegramServer
from tests.process.harness import World
from tests.process.platforms import Platform

_SECRET = "It's a Secret to Everybody"
_HOOK = HookSettings(style="github", secret=_SECRET)
_TAKEN, _KNOWN = 202, 200
_RECENT = 16
_FIRST_CHAT = 80
_CLOCK_CHAT = 99
_STUCK_SECONDS = 90.0
_REPEATING = ("asking", "queued", "saying")


class OnHooks(Platform):
    """Services, each with a hook and a chat that reads what the model makes of it. Like real ones
    they deliver until somebody has taken it, and now and then once more."""

    name = "hook"
    certain = False
    share = 0.4

    def __init__(self, telegram: TelegramServer, rng: Random, chats: int) -> None:
        super().__init__(rng, [str(_FIRST_CHAT + number) for number in range(chats)])
        self._telegram = telegram
        self._url = ""
        self._last: dict[str, str] = {}
        self._sent = 0
        self._next = self._plain
        acts = (self._again, self._twice, self._hang_up)
        self.troubles = [self._trouble(act) for act in acts]

    def started(self, line: str) -> None:
        match = re.search(r" web=(\S+) ", line)
        assert match, line
        self._url = match[1]

    async def say(self, chat: str, text: str) -> None:
        deliver, self._next = self._next, self._plain
        self._sent += 1
        self._last = {"chat": chat, "text": text, "key": str(self._sent)}
        await deliver(self._last)

    async def _plain(self, what: dict[str, str]) -> None:
        """Deliver until it is taken: the gateway may be dead just now."""
        while await self._deliver(what) is None:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)

    async def _both(self, what: dict[str, str]) -> None:
        """Twice in the same moment: one of them is known."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._plain(what))
            tasks.create_task(self._plain(what))

    async def _unheard(self, what: dict[str, str]) -> None:
        """The service hangs up before it has the answer, and delivers again."""
        address = self._url.removeprefix("http://")
        host, _, port = address.partition(":")
        body, headers = self._request(what)
        lines = [f"POST /hooks/h{what['chat']} HTTP/1.1", f"Host: {address}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines.append(f"Content-Length: {len(body)}\r\n\r\n")
        try:
            _, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            pass  # it is dead just now
        else:
            writer.write("\r\n".join(lines).encode() + body)
            writer.close()
        await self._plain(what)

    @staticmethod
    def _request(what: dict[str, str]) -> tuple[bytes, dict[str, str]]:
        body = json.dumps({"name": what["text"]}).encode()
        headers = sign(_HOOK, body, at=0, key=what["key"])
        return body, headers | {"Content-Type": "application/json"}

    async def _deliver(self, what: dict[str, str]) -> int | None:
        """The status, if it was taken now or before."""
        body, headers = self._request(what)
        url = f"{self._url}/hooks/h{what['chat']}"
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(url, data=body, headers=headers) as answer,
            ):
                status = answer.status
        except aiohttp.ClientError:
            return None
        return status if status in {_TAKEN, _KNOWN} else None

    def shown(self, chat: str) -> list[str]:
        return [message.text for message in self._telegram.messages(int(chat))]

    def recent(self, chat: str) -> list[str]:
        return self.shown(chat)[-_RECENT:]

    async def until(self, holds: Callable[[], bool], timeout: float) -> None:
        await self._telegram.until(holds, timeout)

    async def connected(self) -> None:
        """Telegram wants people to speak first."""
        for chat in self.chats:
            if not self.shown(chat):
                self._telegram.say(int(chat), "/help")
                await self._telegram.until(lambda chat=chat: bool(self.shown(chat)), 20)  # type: ignore[misc]

    async def left(self) -> None:
        """Nothing to be seen of that."""

    def calm(self) -> None:
        """Nothing goes wrong by itself."""

    def table(self) -> str:
        hooks = [
            f"""
[hooks.h{chat}]
secret = "{_SECRET}"
to = "telegram:{chat}"
per_minute = 100000
prompt = "{{name}}"
"""
            for chat in self.chats
        ]
        return "[web]\nport = 0\n[quiet]\nmax_per_hour = 0\nmax_per_day = 0\n" + "".join(hooks)

    async def _again(self) -> None:
        """What was taken is delivered again, and known."""
        if self._last:
            assert await self._deliver(self._last) in {_KNOWN, None}

    async def _twice(self) -> None:
        self._next = self._both

    async def _hang_up(self) -> None:
        self._next = self._unheard


class Clockwork:
    """Jobs that say something every ten seconds, and some that do it once."""

    def __init__(self, world: World, once: int) -> None:
        self._world = world
        self._once = [f"once{number}" for number in range(once)]
        self.counts: dict[str, int] = {}

    async def begin(self) -> None:
        """Somebody asks for all of them."""
        orders = [
            "name=asking every 10 seconds What time is it?",
            "name=queued misfire=run_all overlap=queue every 10 seconds What time is it?",
            "name=saying send=yes every 10 seconds Stretch!",
            *(
                f"name={name} send={'yes' if number % 2 else 'no'} +{5 + number}s What time is it?"
                for number, name in enumerate(self._once)
            ),
        ]
        for number, order in enumerate(orders, 1):
            self._world.telegram.say(_CLOCK_CHAT, f"/cron add {order}")
            await self._world.answered(_CLOCK_CHAT, number)
        self._orders = len(orders)

    async def end(self) -> None:
        """No time is due any more, and every one that was has come to its end."""
        for name in _REPEATING:
            assert (await self._world.run("cron", "pause", name)).code == 0
        async with asyncio.timeout(_STUCK_SECONDS):
            while not await self._ended():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.2)

    async def _ended(self) -> bool:
        """Asked of the jobs and of their times, as people do."""
        active = await self._world.run("cron", "list", "--state", "active", "--json")
        ended = await self._world.run("cron", "history", "--limit", "1000", "--json")
        states = {occurrence["status"] for occurrence in json.loads(ended.output)}
        return not json.loads(active.output) and not states & {"running", "waiting"}

    def check(self) -> None:
        """Each time that was due has one end, and each that was done was told once: what says that
        it may be a repeat is one, or is not, which texts that are all alike do not tell."""
        query = """
            SELECT status, count(*) FROM occurrences JOIN jobs ON jobs.id = job_id
            WHERE jobs.state != 'system' GROUP BY status
        """
        self.counts = dict(self._world.rows(query))
        assert set(self.counts) <= {"done", "skipped", "missed"}, self.counts
        texts, done = self._world.texts(_CLOCK_CHAT), self.counts["done"]
        orders, perhaps = texts[self._orders :], sum(REPEAT_LINE in text for text in texts)
        assert done <= len(orders) <= done + perhaps, (self.counts, perhaps, orders)
        query = """
            SELECT name, status FROM occurrences JOIN jobs ON jobs.id = job_id
            WHERE name LIKE 'once%' ORDER BY jobs.id
        """
        assert self._world.rows(query) == [(name, "done") for name in self._once]
        query = "SELECT job_id, scheduled_at FROM occurrences GROUP BY 1, 2 HAVING count(*) > 1"
        assert self._world.rows(query) == []
