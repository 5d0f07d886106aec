"""`nanobot agent`: one message, or a conversation, through a running nanobot or one of its own."""

from __future__ import annotations

import asyncio
import getpass
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import msgspec

from nanobot import __version__
from nanobot.app.gateway import Gateway
from nanobot.boundary import ungrouped
from nanobot.cli.chat.images import absolute, say_typed
from nanobot.cli.chat.screen import JsonScreen, PlainScreen, Screen
from nanobot.cli.logs import to_stderr
from nanobot.cli.output import warn
from nanobot.config.loader import Config, load
from nanobot.errors import ConfigError, ModelError, NanobotError, StoreLocked, UsageError
from nanobot.messages import EventKind, RunPayload
from nanobot.providers.base import Models
from nanobot.server.client import ControlClient
from nanobot.server.protocol import Answer, EventLine, Refusal, ShowMessage, Taken

_CONNECT_SECONDS = 5.0
_DRAIN_SECONDS = 2.0
_MODEL_SECONDS = 1.0


class OneMessage(msgspec.Struct, frozen=True):
    """One thing to say, with the pictures at these paths."""

    text: str
    images: tuple[str, ...] = ()


def talk(
    environ: Mapping[str, str], message: OneMessage | None, session: str, *, json: bool
) -> int:
    """Run the command; returns its exit code."""
    to_stderr(environ, "ERROR" if message is None else "WARNING")
    if message is not None and not (message.text.strip() or message.images):
        raise UsageError("there is nothing to say: the message is empty")
    plain = json or message is not None or not _on_a_terminal(environ)
    config = load(environ)
    for warning in config.warnings:
        warn(f"nanobot: {warning}")
    screen: Screen = JsonScreen() if json else PlainScreen(streaming=message is None)
    with ungrouped():
        if plain:
            return asyncio.run(_talk(config, environ, message, session, screen))
        return asyncio.run(_talk_on_a_terminal(config, environ, session))


async def _talk(
    config: Config,
    environ: Mapping[str, str],
    message: OneMessage | None,
    session: str,
    screen: Screen,
) -> int:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            _connected(config, environ, greets=message is None)
        )
        hello = await client.attach(session)
        conversation = Conversation(client, screen)
        if message is not None:
            return await conversation.once(message)
        screen.say(f"nanobot {__version__}: {hello.model}")
        screen.say("/help shows what I can do besides talking; Ctrl-D leaves.")
        return await conversation.repl()


async def _talk_on_a_terminal(config: Config, environ: Mapping[str, str], session: str) -> int:
    from nanobot.cli.chat.repl import Repl  # noqa: PLC0415 - loads what draws on terminals

    async with _connected(config, environ, greets=True) as client:
        return await Repl(config, environ, session).run(client)


def _on_a_terminal(environ: Mapping[str, str]) -> bool:
    """Whether a terminal is at both ends, and one that can move its cursor."""
    moves = environ.get("TERM", "") not in ("", "dumb", "unknown")
    return moves and sys.stdin.isatty() and sys.stdout.isatty()


@asynccontextmanager
async def _connected(
    config: Config, environ: Mapping[str, str], *, greets: bool
) -> AsyncIterator[ControlClient]:
    """A client of whoever serves this home; of ourselves if nobody does. One that `greets` may
    wait a moment until it is known which model answers."""
    path = config.home / "control.sock"
    client = await ControlClient.connect(path)
    if client is not None:
        yield client
        await client.close()
        return
    async with AsyncExitStack() as stack:
        try:
            own = Gateway(_alone(config), environ, channels=False)
            parts = await stack.enter_async_context(
                own.serving("nanobot agent", lambda _line: None)
            )
        except StoreLocked as locked:
            client = await _soon(path, locked)
        else:
            if greets:
                await _know_the_model(parts.models)
            client = await ControlClient.connect(path)
        if client is None:
            raise NanobotError(f"{path} does not answer")
        yield client
        await client.close()


async def _know_the_model(models: Models) -> None:
    """What is wrong with it is told by the first answer, and in the log."""
    with suppress(TimeoutError, NanobotError):
        async with asyncio.timeout(_MODEL_SECONDS):
            await models.pick(None)


async def _soon(path: Path, locked: StoreLocked) -> ControlClient:
    """Somebody holds the home but does not answer yet: it may be starting."""
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            while (client := await ControlClient.connect(path)) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise locked from None
    return client


def _alone(config: Config) -> Config:
    return msgspec.structs.replace(config, drain_seconds=min(config.drain_seconds, _DRAIN_SECONDS))


class Conversation:
    """What is said and what comes back, one message at a time."""

    def __init__(self, client: ControlClient, screen: Screen) -> None:
        self._client = client
        self._screen = screen
        self._count = 0
        self._prefix = f"{getpass.getuser()}-{os.getpid()}-{os.urandom(6).hex()}"
        self.busy = False

    async def once(self, message: OneMessage) -> int:
        """Say one thing and show its answer; returns the exit code."""
        key = self._key()
        images = tuple(absolute(path) for path in message.images)
        self._client.say(message.text, key, images=images, attended=False)
        pending = PendingAnswer(key)
        async for answer in self._client.answers():
            pending.see(answer)
            self._show(answer, mine=pending.is_mine(answer))
            if pending.done:
                return pending.exit_code
        return 1

    async def repl(self) -> int:
        """Talk until end of input."""
        lines = _stdin_lines()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        async with asyncio.TaskGroup() as tasks:
            showing = tasks.create_task(self._keep_showing(), name="agent: answers")
            self._screen.prompt()
            while (text := await lines.get()) is not None:
                if text.strip():
                    self.busy = True
                    self._say(text)
                else:
                    self._screen.prompt()
            showing.cancel()
        return 0

    def _interrupted(self) -> None:
        """Ctrl-C stops the run; with none running, it leaves."""
        if not self.busy:
            raise KeyboardInterrupt
        self._say("/stop")

    def _say(self, text: str) -> None:
        say_typed(self._client, text, self._key())

    def _key(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"

    async def _keep_showing(self) -> None:
        async for answer in self._client.answers():
            self._show(answer, mine=self._count > 0)
            if isinstance(answer, ShowMessage | Refusal):
                self.busy = False
                self._screen.prompt()

    def _show(self, answer: Answer, *, mine: bool) -> None:
        match answer:
            case EventLine(event):
                self._screen.event(event)
            case ShowMessage():
                self._screen.message(answer, earlier=not mine)
                self._client.was_shown(answer.key)
            case Refusal(text):
                self._screen.say(text)
            case _:
                pass


class PendingAnswer:
    """The answer to one message: which run takes it, and what that run says."""

    def __init__(self, key: str) -> None:
        self.done = False
        self.exit_code = 0
        self._key = key
        self._inbound: int | None = None
        self._run: str | None = None
        self._runs: dict[str, set[int]] = {}
        self._ended = False
        self._shown: set[str] = set()

    def see(self, answer: Answer) -> None:
        """Take an answer into account."""
        match answer:
            case Taken():
                self._inbound = answer.inbound_id
                if answer.stopped:
                    self.done = False
            case Refusal():
                self.done, self.exit_code = True, 1
            case EventLine(event):
                self._event(event.run_id, event.kind, event.payload)
            case ShowMessage(key):
                self._shown.add(key)
            case _:
                pass
        self._settle()

    def is_mine(self, answer: Answer) -> bool:
        """Whether a message answers this one, and not an earlier one."""
        return isinstance(answer, ShowMessage) and answer.key in self._keys()

    def _keys(self) -> set[str]:
        keys = {key for key in self._shown if key.endswith(f":{self._key}")}
        return keys | ({f"{self._run}:0"} if self._run else set())

    def _event(self, run_id: str, kind: EventKind, payload: RunPayload) -> None:
        ids = payload.get("inbound_ids")
        if kind is EventKind.STATUS and ids is not None:
            self._runs.setdefault(run_id, set()).update(ids)
        if kind is EventKind.END and self._runs_it(run_id):
            self._ended = True
            self.exit_code = _exit_code(payload)
            if not payload.get("text"):
                self.done = True

    def _runs_it(self, run_id: str) -> bool:
        if self._inbound in self._runs.get(run_id, set()):
            self._run = run_id
        return self._run == run_id

    def _settle(self) -> None:
        for run_id in self._runs:
            self._runs_it(run_id)
        if self._keys() & self._shown:
            self.done = True


def _exit_code(payload: RunPayload) -> int:
    if payload.get("state") == "completed":
        return 0
    kinds: list[type[NanobotError]] = [ConfigError, *ModelError.__subclasses__()]
    names = {kind.__name__: kind.exit_code for kind in kinds}
    return names.get(str(payload.get("error")), 1)


def _stdin_lines() -> asyncio.Queue[str | None]:
    """Messages on standard input, a line each, or more where lines end with a backslash; None at
    its end. A thread reads, for input() cannot be awaited."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        begun = ""
        for text in sys.stdin:
            line = text.rstrip("\n")
            if line.endswith("\\"):
                begun += line[:-1] + "\n"
                continue
            loop.call_soon_threadsafe(lines.put_nowait, begun + line)
            begun = ""
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return lines
