"""`python -m benchmarks.workers`: turns a second with 1, 2 and 4 workers over one PostgreSQL.

The workers are real processes; this one is the process of a channel: it admits messages into many
chats, each after the answer to the one before, and hears of answers by the notices. The model is a
process of its own that answers at once, or after a while.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web

from benchmarks.transactions import cpu_of, new_database, postgres, postmaster
from nanobot.bus.core import Bus
from nanobot.messages import Address, InboundMessage, Role, Sender
from nanobot.plugins.budgets.limits import Budgets
from nanobot.plugins.budgets.settings import UNLIMITED
from nanobot.plugins.budgets.store.ledger import SqlCallLedger
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.postgres.processes.sharing import PostgresProcesses
from nanobot.plugins.postgres.processes.this_process import ThisProcess
from nanobot.plugins.postgres.store.notices import Notices
from nanobot.session.inbox import Admission
from nanobot.store.opening import Store, contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock

CHANNEL = "bench"
_CONFIG = """
database_url = "{url}"
[agent]
model = "bench/null"
[providers.bench]
api_base = "http://127.0.0.1:{port}/v1"
[providers.bench.models."null"]
price = {{ prompt = 0.0, completion = 0.0 }}
[budgets]
tokens_per_day = {tokens}
cost_per_day = 0.0
"""


class Measured(NamedTuple):
    """One row."""

    workers: int
    model_ms: int
    turns: float
    answered_ms: float
    admitted_ms: float
    admitted_p95: float
    notices: float
    cpu: dict[str, float]
    """Milliseconds of processor a turn, by process."""
    processors: float
    """How many of them all of that took."""


def model_server(port: int, seconds: float) -> None:
    """A model that says one word."""

    async def answer(request: web.Request) -> web.StreamResponse:
        await request.read()
        await asyncio.sleep(seconds)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for delta, finish in (({"role": "assistant", "content": "yes"}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            event = {"id": "1", "object": "chat.completion.chunk", "choices": [choice]}
            await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


class Talkers:
    """Chats, each of which says the next thing once it was answered."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus
        self.admitted: list[float] = []
        self.answered: list[float] = []
        self._owed: dict[str, asyncio.Event] = {}

    async def deliver(self) -> None:
        owed = self._bus.owed_chats(CHANNEL)
        while True:
            chat = await owed.get()
            if chat in self._owed:
                self._owed[chat].set()

    async def poll(self) -> None:
        """What no notice told, as a channel looks for it."""
        while True:
            await asyncio.sleep(2.0)
            for event in self._owed.values():
                event.set()

    async def talk(self, chat: str, until: float) -> None:
        owed = self._owed[chat] = asyncio.Event()
        address, number = Address(CHANNEL, chat), 0
        while time.monotonic() < until:
            number += 1
            key = f"{chat}-{number}"
            message = InboundMessage(
                address=address,
                message_id=key,
                dedupe_key=key,
                sender=Sender("1"),
                text="Is it so?",
                sent_at=time.time(),
            )
            began = time.monotonic()
            admission = Admission(message=message, session_key=str(address), role=Role.OWNER)
            await self._bus.admit(CHANNEL, [admission])
            self.admitted.append(time.monotonic() - began)
            while True:
                await owed.wait()
                owed.clear()
                row = await self._store.journal.next_outbound(address)
                if row is not None:
                    part = [_part(key)]
                    await self._store.journal.begin_send(row, part, 0, duplicate=False)
                    await self._store.journal.receipt(row, 0, key, begin=None)
                    break
            self.answered.append(time.monotonic() - began)


def _part(key: str) -> Any:
    from nanobot.ports import OutboundPart  # noqa: PLC0415

    return OutboundPart(text="yes", payload=b"{}", key=key)


@asynccontextmanager
async def started(command: Sequence[str], home: Path, ready: bytes) -> AsyncIterator[int]:
    environ = {"PATH": os.environ["PATH"], "NANOBOT_HOME": str(home), "NANOBOT_LOG": "WARNING"}
    with (home.parent / f"{home.name}.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, env=environ, stdout=asyncio.subprocess.PIPE, stderr=log
        )
    try:
        if ready and process.stdout is not None:
            async with asyncio.timeout(60):
                line = await process.stdout.readline()
            if not line.startswith(ready):
                raise SystemExit(f"a worker did not start: see {log.name}")
        yield process.pid
    finally:
        with suppress(ProcessLookupError):  # it ended by itself
            process.send_signal(signal.SIGTERM)
        await process.wait()


class _Scene:
    """The processes that take part, over one new database."""

    def __init__(self, url: str, folder: Path, given: argparse.Namespace) -> None:
        self.pids: dict[str, list[int]] = {"here": [os.getpid()], "postgres": [postmaster(url)]}
        self.url = new_database(url)
        self._folder = Path(tempfile.mkdtemp(dir=folder))
        self._given = given
        self._port = 20_000 + random.randrange(20_000)

    async def begin(self, stack: AsyncExitStack, workers: int, model_ms: int) -> Store:
        """The model, the workers, and the store for the channel's process, until the stack ends."""
        model = [sys.executable, "-m", "benchmarks.workers", "--model", str(self._port)]
        home = self._home("model")
        self.pids["model"] = [
            await stack.enter_async_context(started([*model, str(model_ms)], home, b""))
        ]
        hooks = store_hooks(lambda context: SqlCallLedger(Budgets(UNLIMITED), context.clock))
        context = contexts(SystemClock(), RandomIds(), hooks)
        here = self._folder / "here"
        store = open_store(here, self.url, context, command="benchmark", crash="")
        stack.push_async_callback(store.close)
        self.pids["workers"] = [
            await stack.enter_async_context(self._worker(number)) for number in range(workers)
        ]
        return store

    def _worker(self, number: int) -> AbstractAsyncContextManager[int]:
        home = self._home(f"worker{number}")
        text = _CONFIG.format(url=self.url, port=self._port, tokens=self._given.tokens)
        (home / "config.toml").write_text(text)
        start = [sys.executable, "-c", "from nanobot.cli import main; main()", "gateway"]
        return started([*start, "--role", "worker"], home, b"ready")

    def _home(self, name: str) -> Path:
        home = self._folder / name
        home.mkdir()
        return home

    def cpu(self) -> dict[str, float]:
        """Seconds of processor so far."""
        spent = {what: sum(map(cpu_of, pids)) for what, pids in self.pids.items()}
        spent["here"] -= spent["workers"] + spent["model"]  # its children
        return spent


async def measure(
    url: str, folder: Path, workers: int, model_ms: int, given: argparse.Namespace
) -> Measured:
    """Some workers for some seconds."""
    scene = _Scene(url, folder, given)
    async with AsyncExitStack() as stack:
        store = await scene.begin(stack, workers, model_ms)
        bus = Bus(store.journal)
        bus.drives = False
        talkers = Talkers(store, bus)
        assert isinstance(store.notices, Notices)
        peers = PostgresProcesses(store.database, store.writer, store.notices).told(bus, _this())
        await stack.enter_async_context(peers.serving())
        async with asyncio.TaskGroup() as tasks:
            background = [tasks.create_task(talkers.deliver()), tasks.create_task(talkers.poll())]
            await asyncio.sleep(1.0)
            before, sent, began = scene.cpu(), store.notices.sent, time.monotonic()
            async with asyncio.TaskGroup() as chats:
                for chat in range(given.chats):
                    chats.create_task(talkers.talk(f"c{chat}", began + given.seconds))
            took, spent = time.monotonic() - began, scene.cpu()
            for task in background:
                task.cancel()
        turns = len(talkers.answered)
        return Measured(
            workers,
            model_ms,
            turns / took,
            statistics.median(talkers.answered) * 1000,
            statistics.median(talkers.admitted) * 1000,
            statistics.quantiles(talkers.admitted, n=20)[-1] * 1000,
            (store.notices.sent - sent) / turns,
            {what: round((spent[what] - was) * 1000 / turns, 1) for what, was in before.items()},
            (sum(spent.values()) - sum(before.values())) / took,
        )


def _this() -> ThisProcess:
    return ThisProcess(
        drives=lambda: False,
        schedules=lambda: False,
        serves=lambda: [CHANNEL],
        speaks=tuple,
        holds=lambda _: False,
        partial=lambda _: None,
        jobs_changed=lambda: None,
    )


async def main(given: argparse.Namespace) -> None:
    """Every number of workers with every model, over one server."""
    with (
        tempfile.TemporaryDirectory(dir=given.folder) as name,
        postgres(Path(name)) as url,
    ):
        for model_ms in given.model_ms:
            for workers in given.workers:
                row = await measure(url, Path(name), workers, model_ms, given)
                print(
                    f"{row.workers} workers, model {row.model_ms:3} ms: {row.turns:6.1f} turns/s, "
                    f"answered {row.answered_ms:6.0f} ms, admitted {row.admitted_ms:5.1f} ms "
                    f"(p95 {row.admitted_p95:5.1f}), {row.notices:4.2f} notices a turn sent by "
                    f"the channel; a turn takes {row.cpu} ms of processors, of which "
                    f"{row.processors:4.2f} were busy with it",
                    flush=True,
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--model"]:
        model_server(int(sys.argv[2]), int(sys.argv[3]) / 1000)
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
        parser.add_argument("--model-ms", type=int, nargs="*", default=[0, 200])
        parser.add_argument("--chats", type=int, default=64)
        parser.add_argument("--seconds", type=float, default=10.0)
        parser.add_argument("--folder", type=Path, default=None, help="on a real disk")
        parser.add_argument("--tokens", type=int, default=0, help="a budget a day; 0: none")
        asyncio.run(main(parser.parse_args()))
