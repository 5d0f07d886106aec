"""A damaged event costs a whole gateway nothing else: what is said after it is answered once, and
the next start reads all that was stored of it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from loguru import logger

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.config.loader import load
from tests.channels.damaged_platforms import PLATFORMS, Platform
from tests.channels.damaging import ODD, UNSTORABLE
from tests.doubles.openai_server import Answer, Body, OpenAIServer
from tests.store.conftest import Postgres, postgres
from tests.store.empty import with_empty_store

__all__ = ["postgres"]
pytestmark = pytest.mark.process

Opened: TypeAlias = Callable[[int, Sequence[Any]], AbstractAsyncContextManager[Platform]]
PATIENCE = 45.0
EVERY_PLATFORM = pytest.mark.parametrize("opened", PLATFORMS, ids=lambda opened: opened.__name__)
_CONFIG = """
{database}
[agent]
model = "test/scripted"
max_history = 20
[budgets]
tokens_per_day = 1_000_000_000
[providers.test]
api_base = "{model}"
[web]
port = 0
public_url = "https://bot.example.org"
{platform}
"""


def answers(body: Body) -> Answer:
    """What was said since the last answer, by its numbers."""
    asked = body["messages"]
    last = max((at for at, each in enumerate(asked) if each["role"] == "assistant"), default=0)
    numbers = re.findall(r"good (\d+)\.", json.dumps(asked[last:]))
    return Answer(" ".join(f"answer {number}." for number in numbers) or "Noted.")


class Served:
    """A gateway that serves a platform, and what it logged."""

    def __init__(self, platform: Platform, parts: Parts, log: list[str]) -> None:
        self.platform, self.parts, self.log = platform, parts, log

    async def answered(self, number: int, *, there: bool = False) -> None:
        """Say this, privately or where the events were, and wait for its answer."""
        here = self.platform
        say, texts = (here.says, here.written) if there else (here.say, here.texts)
        await say(f"good {number}.")
        try:
            async with asyncio.timeout(PATIENCE):
                while f"answer {number}." not in " ".join(texts()):  # noqa: ASYNC110 - many doubles
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"{number} was not answered: {''.join(self.log[-30:])}") from None

    async def everything_is_read(self) -> None:
        """Each conversation, its chain of hashes too; nothing had to be put aside."""
        call = self.parts.operations.call
        sessions = await call("sessions list", {"limit": 200})
        assert len(sessions) > 0
        for session in sessions:
            await call("sessions export", {"session": session.key})
        assert len(await call("audit verify", {})) >= len(sessions)
        assert await call("quarantine list", {}) == []


@asynccontextmanager
async def serving(home: Path, config: str, platform: Platform) -> AsyncIterator[Served]:
    (home / "config.toml").write_text(config, "utf-8")
    (home / "config.toml").chmod(0o600)
    log: list[str] = []
    logger.remove()
    logger.add(lambda each: log.append(str(each)), level="INFO", backtrace=False, diagnose=False)
    environ, ready = {"NANOBOT_HOME": str(home), "TZ": "UTC"}, list[str]()
    async with Gateway(load(environ), environ).serving("a test", ready.append) as parts:
        async with asyncio.timeout(PATIENCE):
            while not ready:  # noqa: ASYNC110 - it is told without waking anybody
                await asyncio.sleep(0.01)
        assert f"{platform.name}:up" in ready[0]
        if platform.deliveries is not None:
            platform.deliveries.url = f"{parts.http.url}/channels/{platform.name}"
        yield Served(platform, parts, log)


async def survived(
    opened: Opened,
    home: Path,
    every: int = 1,
    values: Sequence[Any] = ODD,
    database: str = "",
) -> None:
    """Each event, every so many, and a message after it; then all of that with the next start."""
    with_empty_store(home)
    async with OpenAIServer(answers) as model, opened(every, values) as platform:
        where = f'database_url = "{database}"' if database else ""
        config = _CONFIG.format(database=where, model=model.base_url, platform=platform.table)
        last = len(platform.events) + 1
        async with serving(home, config, platform) as served:
            await served.answered(0)
            for number, event in enumerate(platform.events, 1):
                await event()
                await served.answered(number)
            await served.answered(last, there=True)
        heard = len(model.requests)
        async with serving(home, config, platform) as served:
            await served.answered(last + 1)
            await served.answered(last + 2, there=True)
            await served.everything_is_read()
            failures = [line for line in served.log if "| ERROR" in line or "Traceback" in line]
        texts = platform.texts()
        texts += [] if texts == platform.written() else platform.written()
        counts = [" ".join(texts).count(f"answer {number}.") for number in range(last + 3)]
    assert counts == [1] * (last + 3)
    assert failures == []
    assert heard > last + 1, "no event but the good ones was for the assistant"


@EVERY_PLATFORM
async def test_what_is_said_after_a_damaged_event_is_answered_once(
    opened: Opened, tmp_path: Path
) -> None:
    """A part of the events, which has each odd value somewhere."""
    await survived(opened, tmp_path, every=97)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@EVERY_PLATFORM
async def test_what_is_said_after_any_damaged_event_is_answered_once(
    opened: Opened, tmp_path: Path
) -> None:
    await survived(opened, tmp_path, every=3)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@EVERY_PLATFORM
async def test_nor_does_what_postgresql_cannot_store_stop_anything(
    opened: Opened, tmp_path: Path, postgres: Postgres
) -> None:
    await survived(opened, tmp_path, values=UNSTORABLE, database=postgres.empty())
