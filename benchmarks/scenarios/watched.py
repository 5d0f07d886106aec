"""What it costs to be looked at: many who watch one answer, and windows of long conversations."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.filled import fill_home
from benchmarks.filled_rows import Size, key_of
from benchmarks.stage import Stage, Subject
from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import Held, ScriptedProvider

WATCHERS = 200
TOKENS = 200
TIMES = 20
_TOKEN = "the token of this measurement, long enough"
_SESSION = "/api/sessions/web:desk"


async def watched(stage: Stage, _: Subject) -> Sample:
    """HTTP over a store that is years old: the first request, windows of the longest conversation,
    the list of conversations. Then 200 clients watch an answer: CPU for a token and a client, and
    seconds until the last client has the whole answer."""
    home, held = stage.home(), Held()
    await fill_home(home, Size(*stage.effort.filled))
    async with _served(home, ScriptedProvider(held)) as parts, _client() as client:
        url = parts.http.url
        first = await _timed(client, f"{url}/")
        longest = f"{url}/api/sessions/{key_of(Size(*stage.effort.filled).busiest)}/entries"
        row = (await _json(client, longest))["session"]
        measured = {
            "first": first,
            "tail": await _median(lambda: _timed(client, longest)),
            "middle": await _median(
                lambda: _timed(client, f"{longest}?before={row['entries'] // 2}&limit=100")
            ),
            "list": await _median(lambda: _timed(client, f"{url}/api/sessions/list?limit=100")),
        }
        return {**measured, **await _streamed(client, url, held)}


async def _streamed(client: aiohttp.ClientSession, url: str, held: Held) -> Sample:
    async with asyncio.TaskGroup() as tasks:
        ready = asyncio.Semaphore(0)
        for _ in range(WATCHERS):
            tasks.create_task(_watch(client, url, ready))
        for _ in range(WATCHERS):
            await ready.acquire()
        async with client.post(f"{url}{_SESSION}/messages", json={"text": "go"}) as answer:
            await answer.read()
        await held.reached.wait()
        begin, used = time.perf_counter(), time.process_time()
        for number in range(TOKENS):
            held.say(f"token {number} ")
            await asyncio.sleep(0.005)
        held.answer("done")
    cpu = time.process_time() - used
    return {"each": cpu / (WATCHERS * TOKENS) * 1e3, "all": time.perf_counter() - begin}


async def _watch(client: aiohttp.ClientSession, url: str, ready: asyncio.Semaphore) -> None:
    """Read to the end of the run."""
    async with client.get(f"{url}{_SESSION}/events") as response:
        async for line in response.content:
            if b'"type":"snapshot"' in line:
                ready.release()
            if b'"kind":"end"' in line:
                return


@asynccontextmanager
async def _served(home: Path, provider: ScriptedProvider) -> AsyncIterator[Parts]:
    environ = {"NANOBOT_HOME": str(home), "NANOBOT_WEB__PORT": "0", "NANOBOT_WEB__TOKEN": _TOKEN}
    program = Program(provider=OneProvider(provider))
    gateway = Gateway(load(environ), environ, channels=False, page=True, program=program)
    async with gateway.serving("benchmarks", lambda _line: None) as parts:
        yield parts


def _client() -> aiohttp.ClientSession:
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    return aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=0))


async def _json(client: aiohttp.ClientSession, url: str) -> Any:
    async with client.get(url) as response:
        response.raise_for_status()
        return await response.json()


async def _timed(client: aiohttp.ClientSession, url: str) -> float:
    begin = time.perf_counter()
    async with client.get(url) as response:
        response.raise_for_status()
        await response.read()
    return (time.perf_counter() - begin) * 1e3


async def _median(ask: Callable[[], Awaitable[float]]) -> float:
    return statistics.median([await ask() for _ in range(TIMES)])


WATCHED = Scenario(
    "watched",
    (
        Measure("first", "the first request, which loads it", "ms"),
        Measure("tail", "the end of the longest conversation", "ms"),
        Measure("middle", "100 entries from its middle", "ms"),
        Measure("list", "100 of the conversations", "ms"),
        Measure("each", "CPU of a token for a watcher", "ms"),
        Measure("all", "200 watchers, 200 tokens", "s"),
    ),
    watched,
    subjects=(Subject.NANOBOT,),
)
