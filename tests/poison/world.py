"""A whole gateway in this process, between its doubles: ten chats, a job, a hook and a mailbox."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import socket
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path

import aiohttp
import psycopg
from loguru import logger

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.config.loader import load
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.signatures import sign
from nanobot.ports import Clock
from nanobot.troubles import TROUBLES
from tests.doubles.mail_server import AUTHSERV, OWNER, PASSWORD, USER, MailServer, letter
from tests.doubles.openai_server import Body, Fault, OpenAIServer
from tests.doubles.telegram_server import TelegramServer

CHATS = range(1, 11)
"""Those that have to be answered; the first is an owner's."""
VICTIM = 66
"""The chat that is poisoned."""
CLONES = range(6600, 6610)
"""Chats like it, one for each state of a run."""
SECRET = "It's a Secret to Everybody"
HOOK = HookSettings(style="github", secret=SECRET)
JOB, HOOKED = "The job was done.", "The hook was heard."
PATIENCE = 8.0

_CONFIG = """
{database}
[agent]
model = "test/scripted"
[providers.test]
api_base = "{model}"
[channels.telegram]
token = "{token}"
api_root = "{telegram}"
owners = ["1", "66"]
members = {members}
[channels.email]
imap_host = "127.0.0.1"
imap_port = {imap}
smtp_host = "127.0.0.1"
smtp_port = {smtp}
tls = false
user = "{user}"
password = "{password}"
trusted_authserv = ["{authserv}"]
owners = ["{owner}"]
[web]
port = 0
token = "the token of this gateway, long enough to be one"
[hooks.ci]
secret = "{secret}"
to = "telegram:1"
per_minute = 100000
prompt = '''
say:{hooked}'''
[voice]
answers = "on"
model = "test/tts"
[retention]
entries_days = 3650
"""


class Model(OpenAIServer):
    """A model whose answers to some are spoiled, by what their messages contain."""

    def __init__(self) -> None:
        super().__init__()
        self.poisoned: dict[str, Fault] = {}

    def refusal_of(self, body: Body) -> Fault | None:
        last = str(self.conversation(body)[-1:])
        return next((fault for text, fault in self.poisoned.items() if text in last), None)


class Served:
    """A gateway that serves, and the world around it. `log` is what it said of failures."""

    def __init__(
        self, home: Path, parts: Parts, telegram: TelegramServer, mail: MailServer, model: Model
    ) -> None:
        self.home = home
        self.parts = parts
        self.telegram = telegram
        self.mail = mail
        self.model = model
        self.database = ""
        self.log: list[str] = []
        self.connections: list[socket.socket] = []

    def texts(self, chat: int) -> list[str]:
        """What the bot said in a chat."""
        return [message.text for message in self.telegram.messages(chat)]

    def heard(self, stopped: Sequence[str]) -> list[str]:
        """What those who wait in vain heard instead."""
        chats = [chat for chat in CHATS if f"chat {chat}" in stopped]
        return [f"chat {chat} heard {self.texts(chat)[-3:]}" for chat in chats]

    async def hook(self, key: str) -> int:
        """Deliver to the hook; the status of the answer."""
        body = json.dumps({"key": key}).encode()
        headers = sign(HOOK, body, at=0, key=key) | {"Content-Type": "application/json"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.parts.http.url}/hooks/ci", data=body, headers=headers) as answer,
        ):
            return answer.status

    async def waiting(self, key: str, without: str = "", patience: float = PATIENCE) -> list[str]:
        """Ask for everything there is; what is still waited for when patience ends."""
        said, spoken = len(self.mail.sent), {chat: len(self.texts(chat)) for chat in CHATS}
        for chat in CHATS:
            self.telegram.say(chat, f"say:{key}")
        self.mail.deliver(letter(f"say:{key}"))
        with suppress(aiohttp.ClientError):
            await self.hook(key)

        def left() -> list[str]:
            waits = [
                f"chat {chat}"
                for chat in CHATS
                if not _answered(key, self.texts(chat)[spoken[chat] :])
            ]
            waits += ["hook"] if HOOKED not in self.texts(1)[spoken[1] :] else []
            waits += ["job"] if JOB not in self.texts(1) and without != "job" else []
            return waits + (["mailbox"] if len(self.mail.sent) == said else [])

        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while left():  # noqa: ASYNC110 - three doubles, each with an event of its own
                    await asyncio.sleep(0.02)
        return left()


def _answered(key: str, texts: Sequence[str]) -> bool:
    """Whether a chat has its answer. The model repeats what it was reminded of, if it was."""
    return any(text == key or text.startswith("[from memory") for text in texts)


def configure(
    home: Path, telegram: TelegramServer, mail: MailServer, model: OpenAIServer, database: str
) -> None:
    """Write config.toml."""
    text = _CONFIG.format(
        database=f'database_url = "{database}"' if database else "",
        model=model.base_url,
        token=telegram.token,
        telegram=telegram.root_url,
        members=[str(chat) for chat in (*CHATS, *CLONES) if chat > 1],
        imap=mail.imap_port,
        smtp=mail.smtp_port,
        user=USER,
        password=PASSWORD,
        authserv=AUTHSERV,
        owner=OWNER,
        secret=SECRET,
        hooked=HOOKED,
    )
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text, encoding="utf-8")
    (home / "config.toml").chmod(0o600)


def later(telegram: TelegramServer, mail: MailServer) -> None:
    """Numbers begin beyond those of the lives before."""
    first = int(time.time() * 10) % 100_000_000
    mail.inbox.next_uid = first
    telegram.begin_at(first)
    for chat in (*CHATS, VICTIM, *CLONES):
        telegram.know(chat)


@asynccontextmanager
async def served(
    home: Path, clock: Clock | None = None, database: str = "", off: str = ""
) -> AsyncIterator[Served]:
    """A gateway over that home, or over that PostgreSQL. What it logs from warnings on is kept, not
    shown. `off`: a plugin that is switched off."""
    for trouble in TROUBLES.recent():
        TROUBLES.over(trouble.what)
    said: list[str] = []
    logger.remove()
    logger.add(
        lambda message: said.append(str(message)), level="INFO", backtrace=False, diagnose=False
    )
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(TelegramServer())
        mail = await stack.enter_async_context(MailServer())
        model = await stack.enter_async_context(Model())
        later(telegram, mail)
        configure(home, telegram, mail, model, database)
        with (home / "config.toml").open("a", encoding="utf-8") as config:
            config.write(f'[plugins]\noff = ["{off}"]\n' if off else "")
        environ = {"NANOBOT_HOME": str(home), "TZ": "UTC"}
        gateway = Gateway(load(environ), environ, clock=clock)
        parts = await stack.enter_async_context(gateway.serving("a test", lambda _line: None))
        opened = Served(home, parts, telegram, mail, model)
        opened.log, opened.database = said, database
        with suppress(TimeoutError):
            await mail.until(lambda: mail.idling >= 1, PATIENCE)
        yield opened
        for connection in opened.connections:
            connection.close()


KEPT = (
    *("workspace/memory/2026-11-28.md", "workspace/memory/people/telegram/66/MEMORY.md"),
    *("workspace/memory/chats/telegram/-5/2026-11-28.md", "workspace/skills/tea/SKILL.md"),
    *("workspace/personas/poet.md", "workspace/media/66/photo.jpg", "archive/telegram%3A66.jsonl"),
    *("blobs/ab/abcd", "logs/gateway.log", "secrets/key", "models/own.gguf", "evals/one/case.toml"),
    *("mcp/it/file", "sandbox-home/file"),
)
"""What people and earlier lives may have left in a home."""


def furnish(home: Path) -> None:
    for name in KEPT:
        (home / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        (home / name).write_text("- The sea is blue.\n", "utf-8")


async def filled(home: Path, database: str = "") -> None:
    """Fill a home as a gateway does: every chat has spoken, a job is due, a call waits for its
    approval, a mail and a hook were answered."""
    async with served(home, database=database) as here:
        for chat in (*CHATS, VICTIM):
            here.telegram.say(chat, "say:hello")
        here.mail.deliver(letter("say:hello"))
        await here.hook("first")
        for chat, text in ((1, JOB), (VICTIM, "poisoned")):
            arguments = {
                "text": text,
                "schedule": "0 0 1 1 *",
                "to": f"telegram:{chat}",
                "send": True,
            }
            await here.parts.operations.call("cron add", arguments)
        everybody = (*CHATS, VICTIM)
        await until(here, lambda: all(map(here.texts, everybody)) and bool(here.mail.sent))
        here.telegram.say(VICTIM, 'tool:memory_save:{"text": "The sea is blue."}\nsay:kept')
        await until(here, lambda: len(here.texts(VICTIM)) > 1)
        here.telegram.say(VICTIM, 'tool:exec:{"command": "rm -r /"}')
        await until(here, lambda: len(here.texts(VICTIM)) > 2)
        await asyncio.sleep(0.6)  # what was said is indexed
    furnish(home)


async def until(here: Served, holds: Callable[[], bool]) -> None:
    """Wait for it, as long as patience lasts."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not holds():  # noqa: ASYNC110 - three doubles, each with an event of its own
                await asyncio.sleep(0.02)
    except TimeoutError:
        said = {chat: here.texts(chat) for chat in (*CHATS, VICTIM)}
        raise AssertionError(f"said {said}, mails {len(here.mail.sent)}; {here.log}") from None


_DUE = "UPDATE jobs SET next_at = {now}, next_due = {now} WHERE chat_id = '1'"


def due(home: Path) -> None:
    """The job of the first chat is due now."""
    with closing(sqlite3.connect(home / "state.db")) as connection, connection:
        connection.execute(_DUE.format(now=time.time()))


def due_in(database: str) -> None:
    """The same in a PostgreSQL."""
    with psycopg.connect(database) as connection:
        connection.execute(_DUE.format(now=time.time()).encode())


def copied(source: Path, target: Path) -> Path:
    """A home like another one."""
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("*.sock"))
    return target


def quiet() -> None:
    """Libraries that log on their own say nothing."""
    logging.disable(logging.CRITICAL)
