"""The conversation in a terminal: an editor below, a transcript above, a gateway behind."""

from __future__ import annotations

import asyncio
import getpass
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from nanobot import __version__
from nanobot.cli.chat.completion import Commands, model_labels
from nanobot.cli.chat.editor import Editor
from nanobot.cli.chat.images import say_typed
from nanobot.cli.chat.markdown import Ink
from nanobot.cli.chat.page import TerminalPage
from nanobot.cli.chat.transcript import Transcript
from nanobot.cli.logs import to_function
from nanobot.config.loader import Config
from nanobot.errors import Disconnected, NanobotError
from nanobot.server.client import ControlClient
from nanobot.server.protocol import Answer, Hello, ShowMessage, Taken

_RECONNECT_SECONDS = 0.5
_FRAME_SECONDS = 0.12
_LAST_SECONDS = 0.5
_INTERRUPTED = 130
_LOST = "(not connected; sent when it is back)"


class Repl:
    """One conversation, over as many connections as it takes."""

    def __init__(self, config: Config, environ: Mapping[str, str], session: str) -> None:
        colour = not environ.get("NO_COLOR")
        commands = Commands({"model": lambda: model_labels(config)})
        self._session = session
        self._socket = config.home / "control.sock"
        self._editor = Editor(
            config.home / "history",
            commands,
            self._live,
            colour=colour,
            term=environ.get("TERM", ""),
        )
        self._editor.on_text = self._entered
        self._editor.on_interrupt = self._interrupted
        self._paper = TerminalPage(Ink(colour=colour), self._editor.put, self._editor.size)
        self._transcript = Transcript(self._paper, time.monotonic)
        self._environ = environ
        self._client: ControlClient | None = None
        self._prefix = f"{getpass.getuser()}-{os.getpid()}-{os.urandom(6).hex()}"
        self._count = 0
        self._armed = ""
        self._stopping = ""
        self._seen = asyncio.Event()

    async def run(self, client: ControlClient) -> int:
        """Talk until the person leaves; returns the exit code. Raises NanobotError when the
        session is refused."""
        hello = await client.attach(self._session)
        self._paper.note(f"nanobot {__version__}: {hello.model}")
        self._paper.note("/help shows what I can do besides talking; Ctrl-D leaves.")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._editor.leave, 128 + number)
        with to_function(self._environ, "WARNING", _threadsafe(loop, self._paper.note)):
            async with asyncio.TaskGroup() as tasks:
                talking = tasks.create_task(self._converse(client), name="terminal: conversation")
                moving = tasks.create_task(self._move(), name="terminal: spinner")
                code = await self._editor.run()
                self._leave()
                await self._acknowledge()
                talking.cancel()
                moving.cancel()
        return code

    def _leave(self) -> None:
        self._transcript.leave()
        if self._transcript.unsent:
            self._paper.note("What was not sent is lost; the history (arrow up) still has it.")
        elif self._transcript.busy:
            self._paper.note("The answer will wait for you here: `nanobot agent` shows it.")

    async def _acknowledge(self) -> None:
        """Take what is on its way, or the next to come would be told again what stands here."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                while self._client is not None and self._transcript.unacknowledged:
                    self._seen.clear()
                    await self._seen.wait()

    # What the person does

    def _entered(self, text: str) -> None:
        self._armed = ""
        if text.strip() in ("/quit", "/exit"):
            self._editor.leave(0)
        elif text.strip():
            self._say(self._chosen(text))

    def _chosen(self, text: str) -> str:
        """A number stands for the choice that was offered under it."""
        choices, number = self._transcript.choices, text.strip()
        if number.isdecimal() and 1 <= int(number) <= len(choices):
            return choices[int(number) - 1].say
        return text

    def _interrupted(self) -> None:
        """Stops what runs; with nothing running it clears the line, and twice leaves."""
        if self._stopping or (self._armed and not self._editor.text):
            self._editor.leave(_INTERRUPTED)
        elif self._transcript.busy and self._client is not None:
            self._stopping = self._say("/stop", silent=True)
        else:
            self._editor.clear()
            self._armed = "(Ctrl-C again leaves)"
        self._editor.refresh()

    def _say(self, text: str, *, silent: bool = False) -> str:
        self._count += 1
        key = f"{self._prefix}-{self._count}"
        self._transcript.say(key, text, silent=silent)
        if self._client is not None:
            say_typed(self._client, text, key)
        self._editor.refresh()
        return key

    # What comes

    async def _converse(self, client: ControlClient) -> None:
        while True:
            self._client = client
            for key, text in self._transcript.unsent.items():
                say_typed(client, text, key)
            try:
                async for answer in client.answers():
                    self._see(answer)
            except Disconnected:
                await client.close()
            self._client = None
            self._stopping = ""
            self._transcript.broken()
            self._paper.note(
                "The connection to nanobot ended. What you said is kept; I go on as soon as it is "
                "back (`nanobot gateway` in another terminal starts it)."
            )
            client, hello = await self._again()
            self._paper.note(f"Connected again. {hello.model}")

    async def _again(self) -> tuple[ControlClient, Hello]:
        while True:
            client = await ControlClient.connect(self._socket)
            if client is not None:
                try:
                    return client, await client.attach(self._session)
                except NanobotError:
                    await client.close()
            await asyncio.sleep(_RECONNECT_SECONDS)

    def _see(self, answer: Answer) -> None:
        self._transcript.see(answer)
        self._seen.set()
        if isinstance(answer, ShowMessage) and self._client is not None:
            self._client.was_shown(answer.key)
        if not (isinstance(answer, Taken) or self._transcript.busy):
            self._stopping = ""
        self._editor.refresh()

    # What moves

    def _live(self, rows: int) -> str:
        lost = _LOST if self._client is None and self._transcript.unsent else ""
        armed = "" if self._editor.text else self._armed
        return self._paper.live(self._transcript, lost or armed, time.monotonic(), rows)

    async def _move(self) -> None:
        while True:
            await asyncio.sleep(_FRAME_SECONDS)
            if self._transcript.busy:
                self._editor.refresh()


def _threadsafe(
    loop: asyncio.AbstractEventLoop, note: Callable[[str], None]
) -> Callable[[str], None]:
    def tell(text: str) -> None:
        loop.call_soon_threadsafe(note, text.strip())

    return tell
