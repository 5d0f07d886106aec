"""nanobot as people run it: a process with a home of its own, and the world around it on loopback.

    async with open_world(tmp_path) as world:
        await world.start()
        world.telegram.say(1, "say:hello")
        assert (await world.telegram.reply_in(1)).text == "hello"

Chats 1 to 99 belong to owners, 100 to 199 to members, all others to strangers.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import psycopg
import sqlalchemy as sa

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.plugins.common.store import chain
from nanobot.session.entries import Body, decode
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.telegram_server import TelegramServer
from tests.process.nest import Egg, the_nest

PATIENCE = 45.0
"""Seconds for what takes one: the machine may be busy with something else."""
COMMAND = (sys.executable, "-c", "from nanobot.cli import main; main()")
OWNERS = range(1, 100)
MEMBERS = range(100, 200)
STEERED = "(This also answers your latest message.)"
_OWED = "SELECT id FROM outbound WHERE state IN ('pending', 'sending')"
LATE_EDIT = "I had already answered this. Send it again if you want a new answer."


class Nanobot:
    """One process of nanobot."""

    def __init__(self, egg: Egg, output: asyncio.StreamReader) -> None:
        self.pid = egg.pid
        self._egg = egg
        self.output = output

    async def ready(self) -> str:
        """The line that says so; fails when the process ends instead."""
        async with asyncio.timeout(PATIENCE):
            line = (await self.output.readline()).decode()
        assert line.startswith("ready "), "nanobot ended before it was ready"
        return line

    async def ended(self) -> int:
        """Its exit code, once it has ended (minus the signal's number if one killed it)."""
        async with asyncio.timeout(PATIENCE):
            return await self._egg.end()

    async def died(self) -> None:
        """It reaches its crash point."""
        assert await self.ended() == -signal.SIGKILL

    async def kill(self) -> None:
        """kill -9, as by the kernel."""
        self.signal(signal.SIGKILL)
        await self.ended()

    async def stop(self) -> int:
        """SIGTERM, and wait for the end."""
        self.signal(signal.SIGTERM)
        return await self.ended()

    def signal(self, number: signal.Signals) -> None:
        self._egg.signal(number)

    @property
    def running(self) -> bool:
        return not self._egg.ended.done()

    @property
    def was_killed(self) -> bool:
        return not self.running and self._egg.ended.result() < 0


class Ended(NamedTuple):
    """A process that has ended."""

    code: int
    output: str
    errors: str


class World:
    """A home, a Telegram, a model, and the processes that were started between them."""

    def __init__(self, home: Path, telegram: TelegramServer, model: OpenAIServer) -> None:
        self.home = home
        self.database_url = ""
        """Set, and configured, where the store is not in the home."""
        self.telegram = telegram
        self.model = model
        self.workspace = home / "workspace"
        self._stderr = home.parent / "stderr.log"
        self._started: list[Nanobot] = []

    def configure(self, agent: str = "", top: str = "", more: str = "") -> None:
        """Write config.toml; `agent` are lines of its table, `top` and `more` stand around."""
        owners = [str(number) for number in OWNERS]
        members = [str(number) for number in MEMBERS]
        if self.database_url:
            top += f'\ndatabase_url = "{self.database_url}"'
        text = f"""
{top}
[agent]
model = "test/scripted"
{agent}
[providers.test]
api_base = "{self.model.base_url}"
[channels.telegram]
token = "{self.telegram.token}"
api_root = "{self.telegram.root_url}"
owners = {owners}
members = {members}
{more}
"""
        self.home.mkdir(exist_ok=True)
        (self.home / "config.toml").write_text(text, encoding="utf-8")

    @property
    def processes_started(self) -> tuple[Nanobot, ...]:
        return tuple(self._started)

    async def launch(self, *arguments: str, crash_at: str = "", **environ: str) -> Nanobot:
        """Start a process without waiting for anything."""
        self._note(f"--- nanobot {' '.join(arguments)} {crash_at}\n".encode())
        given = self.environ(NANOBOT_CRASH_AT=crash_at, **environ)
        silence = os.open(os.devnull, os.O_RDONLY)
        stderr = os.open(self._stderr, os.O_WRONLY | os.O_APPEND)
        try:
            return await self._hatch(arguments or ("gateway",), given, silence, stderr)
        finally:
            os.close(silence)
            os.close(stderr)

    async def _hatch(
        self, arguments: tuple[str, ...], environ: dict[str, str], stdin: int, stderr: int
    ) -> Nanobot:
        reading, writing = os.pipe()
        egg = the_nest().start(arguments, environ, self.home.parent, (stdin, writing, stderr))
        os.close(writing)
        self._started.append(Nanobot(egg, await reader_of(reading)))
        return self._started[-1]

    async def start(self, **environ: str) -> Nanobot:
        """Start a gateway and wait until it is ready."""
        process = await self.launch(**environ)
        await process.ready()
        return process

    async def run(self, *arguments: str, stdin: bytes = b"", **environ: str) -> Ended:
        """Run a command to its end, with a pipe of its own at each of its standard streams."""
        self._note(f"--- nanobot {' '.join(arguments)}\n".encode())
        given, giving = os.pipe()
        complaints, complaining = os.pipe()
        process = await self._hatch(arguments, self.environ(**environ), given, complaining)
        os.close(given)
        os.close(complaining)
        os.write(giving, stdin)
        os.close(giving)
        async with asyncio.timeout(PATIENCE):
            errors = (await (await reader_of(complaints)).read()).decode()
            output = (await process.output.read()).decode()
        self._note(errors.encode())
        return Ended(await process.ended(), output, errors)

    def environ(self, **more: str) -> dict[str, str]:
        """What a process of this world is started with; nothing of ours but the paths."""
        kept = {
            name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ
        }
        return kept | {"NANOBOT_HOME": str(self.home), "TZ": "UTC"} | more

    async def close(self) -> None:
        """Leave no process behind; what they logged is shown when a test failed."""
        for process in self._started:
            await process.kill()
        if self._stderr.exists():
            print(self._stderr.read_text("utf-8", "replace")[-20_000:])

    def _note(self, text: bytes) -> None:
        with self._stderr.open("ab") as stderr:
            stderr.write(text)

    @property
    def log(self) -> str:
        """Everything the processes have logged."""
        return self._stderr.read_text("utf-8", "replace")

    # What can be seen.

    def texts(self, chat: int) -> list[str]:
        """What the bot said in a chat, in order."""
        return [message.text for message in self.telegram.messages(chat)]

    async def said(self, chat: int, *texts: str) -> None:
        """Wait until the bot has said just this in a chat."""
        try:
            await self.telegram.until(lambda: self.texts(chat) == list(texts), PATIENCE)
        except TimeoutError:
            assert self.texts(chat) == list(texts), f"said {self.texts(chat)}"

    async def answered(self, chat: int, count: int = 1) -> list[str]:
        """Wait until the bot has said so much in a chat; what it said. If a process was killed,
        marked repeats do not count: nobody knows which of its messages arrived."""

        def told() -> list[str]:
            texts = self.texts(chat)
            killed = any(process.was_killed for process in self._started)
            return without_repeats(texts) if killed else texts

        try:
            await self.telegram.until(lambda: len(told()) >= count, PATIENCE)
        except TimeoutError:
            assert len(told()) >= count, f"said only {self.texts(chat)}"
        return told()

    async def asked(self, times: int = 1) -> None:
        """Wait until the model has got so many requests."""
        async with asyncio.timeout(PATIENCE):
            while len(self.model.requests) < times:
                self.model.asked.clear()
                await self.model.asked.wait()

    async def eventually(self, holds: Callable[[], bool]) -> None:
        """Wait for something outside of everybody's control, such as a file or a process."""
        async with asyncio.timeout(PATIENCE):
            while not holds():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)

    async def acknowledged(self, update: dict[str, Any]) -> None:
        """Wait until the bot has told Telegram that it has this update."""
        number = update["update_id"]
        await self.telegram.until(lambda: number in self.telegram.acknowledged, PATIENCE)

    async def say_during_a_command(self, chat: int, text: str, first: str) -> None:
        """Say `first` with a command, and `text` while that command runs."""
        running, go = self.workspace / f"running{chat}", self.workspace / f"go{chat}"
        wait = f"touch {running.name}; until [ -e {go.name} ]; do sleep 0.02; done"
        self.telegram.say(chat, f"tool:exec:{json.dumps({'command': wait})}\n{first}")
        await self.eventually(running.exists)
        await self.acknowledged(self.telegram.say(chat, text))
        go.touch()

    @staticmethod
    def processes(*command: str) -> list[int]:
        """The processes of the whole machine with this command line."""
        running = psutil.process_iter(["pid", "cmdline"])
        return [process.pid for process in running if process.info["cmdline"] == [*command]]

    # The store, once no process has it.

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What the store holds."""
        if self.database_url:
            with psycopg.connect(self.database_url) as there:
                cursor = there.execute(query.replace("?", "%s").encode(), values)
                return cursor.fetchall()
        with closing(self.database()) as connection:
            return connection.execute(query, values).fetchall()

    def database(self) -> sqlite3.Connection:
        """The store itself, where it is in the home."""
        return sqlite3.connect(self.home / "state.db")

    def entries(self, session: str) -> list[Body]:
        """The log of a session."""
        query = "SELECT payload FROM entries WHERE session_key = ? ORDER BY seq"
        return [decode(payload) for (payload,) in self.rows(query, session)]

    async def delivered(self) -> None:
        """Wait until the store knows that all was said: whoever is killed before says it again."""
        await self.eventually(lambda: not self.rows(_OWED))

    async def rests(self, process: Nanobot) -> None:
        """The process ends as it is told to, and leaves nothing undone."""
        assert await process.stop() == 0
        self.verify()

    async def revive(self, process: Nanobot) -> Nanobot:
        """Kill it, and start another one in its place."""
        await process.kill()
        return await self.start()

    def verify(self) -> None:
        """Every session's chain holds, nothing waits for anything, and every row was readable."""
        url = sa.make_url(self.database_url or f"sqlite:///{self.home / 'state.db'}")
        if self.database_url:
            url = url.set(drivername="postgresql+psycopg")
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            for (key,) in self.rows("SELECT key FROM sessions"):
                chain.verify(connection, key)
        engine.dispose()
        assert self.rows("SELECT id, state FROM inbound WHERE state != 'settled'") == []
        ends = "('completed', 'failed', 'aborted')"
        assert self.rows(f"SELECT id, state FROM runs WHERE state NOT IN {ends}") == []
        assert self.rows(_OWED) == []
        assert self.rows("SELECT key FROM sessions WHERE owner IS NOT NULL") == []
        assert self.rows("SELECT of_table, row_key, reason FROM quarantine") == []


def without_repeats(texts: list[str]) -> list[str]:
    """The texts with marked repeats joined to what they repeat: what a person was told once."""
    seen: list[str] = []
    for text in texts:
        plain = text.removesuffix(REPEAT_LINE).rstrip()
        if text == plain or plain not in seen:
            seen.append(plain)
    return seen


async def reader_of(descriptor: int) -> asyncio.StreamReader:
    """What comes out of a pipe."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "rb")
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


@asynccontextmanager
async def open_world(folder: Path) -> AsyncIterator[World]:
    """A world in a folder, configured with the defaults; nothing is started yet."""
    async with TelegramServer() as telegram, OpenAIServer() as model:
        world = World(folder / "home", telegram, model)
        world.configure()
        try:
            yield world
        finally:
            await world.close()
