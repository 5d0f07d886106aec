"""The conversation in a terminal: an editor below, a transcript above, a gateway behind."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress

from nanobot import __version__
from nanobot.app.zones import zone_of_home
from nanobot.cli.exit_codes import INTERRUPTED
from nanobot.cli.language import said
from nanobot.config.loader import Config
from nanobot.errors import Disconnected, NanobotError
from nanobot.messages import TERMINAL_SESSION
from nanobot.plugins.common.control.client import ControlClient
from nanobot.plugins.common.control.protocol import Answer, Hello, ShowMessage, Taken
from nanobot.plugins.terminal.completion import Commands, model_labels
from nanobot.plugins.terminal.connection import connected
from nanobot.plugins.terminal.editor import Editor
from nanobot.plugins.terminal.log import to_function
from nanobot.plugins.terminal.markdown import Ink
from nanobot.plugins.terminal.mentions import say_typed
from nanobot.plugins.terminal.page import TerminalPage
from nanobot.plugins.terminal.plain import LEAVING
from nanobot.plugins.terminal.sessions import greeting, last_lines, page_line
from nanobot.plugins.terminal.transcript import Transcript
from nanobot.system import RandomIds
from nanobot.texts import locale_of_terminal

_RECONNECT_SECONDS = 0.5
_FRAME_SECONDS = 0.12
_LAST_SECONDS = 0.5
_LOST = "(not connected; sent when it is back)"
_ENDED = (
    "The connection to nanobot ended. Your messages are stored; the terminal reconnects when "
    "nanobot is back (`nanobot gateway` in another terminal starts it)."
)


class Repl:
    """One conversation, over as many connections as necessary."""

    def __init__(self, config: Config, environ: Mapping[str, str], session: str) -> None:
        colour = not environ.get("NO_COLOR")
        commands = Commands({"model": lambda: model_labels(config)})
        self._config = config
        self._environ = environ
        self._locale = locale_of_terminal(environ)
        self._session = session
        self._editor = Editor(
            config.home / "history",
            commands,
            self._live,
            colour=colour,
            term=environ.get("TERM", ""),
        )
        self._editor.on_text = self._entered
        self._editor.on_interrupt = self._interrupted
        self._page = TerminalPage(Ink(colour=colour), self._editor.put, self._editor.size)
        self._transcript = Transcript(self._page, time.time)
        self._client: ControlClient | None = None
        self._hello: Hello | None = None
        self._ids = RandomIds()
        self._armed = ""
        self._stopping = False
        self._seen = asyncio.Event()

    async def run(self, client: ControlClient) -> int:
        """Talk until the person leaves; returns the exit code. Raises NanobotError if the session
        is refused.
        """
        earlier = []
        with suppress(NanobotError):  # a session that does not exist yet
            earlier = await last_lines(client, self._session)
        self._hello = await client.attach(self._session, self._locale)
        page = await page_line(client, self._hello)
        zone = zone_of_home(self._config.agent, self._environ)
        for line in [*greeting(self._hello, __version__, zone), *page, *earlier]:
            self._page.note(line)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._editor.leave, 128 + number)
        with to_function(self._environ, "WARNING", _threadsafe(loop, self._page.note)):
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
        stays = self._hello is not None and self._hello.gateway
        self._transcript.leave(stays=stays)
        if self._transcript.unsent:
            self._page.note(said("Unsent text is lost; the history (arrow up) still has it."))
        elif self._transcript.busy:
            command = "nanobot agent"
            if self._session != TERMINAL_SESSION:
                command += f" --session {self._session}"
            what = "The answer will wait for you here" if stays else "The answer resumes next time"
            self._page.note(said(f"{what}: `{command}` shows it."))

    async def _acknowledge(self) -> None:
        """Process pending items, or the next client would receive them again."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                while self._client is not None and self._transcript.unacknowledged:
                    self._seen.clear()
                    await self._seen.wait()

    # Input

    def _entered(self, text: str) -> None:
        self._armed = ""
        if text.strip().lower() in LEAVING:
            self._editor.leave(0)
        elif text.strip():
            self._say(self._chosen(text))

    def _chosen(self, text: str) -> str:
        """A number selects the choice that was offered under it."""
        choices, number = self._transcript.choices, text.strip()
        if number.isdecimal() and 1 <= int(number) <= len(choices):
            return choices[int(number) - 1].say
        return text

    def _interrupted(self) -> None:
        """Stop the active run; without one, clear the line, and leave when pressed twice."""
        if self._stopping or (self._armed and not self._editor.text):
            self._editor.leave(INTERRUPTED)
        elif self._transcript.busy and self._client is not None:
            self._stopping = True
            self._say("/stop", silent=True)
        else:
            self._editor.text = ""
            self._armed = said("(Ctrl-C again leaves)")
        self._editor.refresh()

    def _say(self, text: str, *, silent: bool = False) -> None:
        key = self._ids.run_id()
        self._transcript.say(key, text, silent=silent)
        self._send(key, text)
        self._editor.refresh()

    def _send(self, key: str, text: str) -> None:
        if self._client is not None and (note := say_typed(self._client, text, key)):
            self._page.note(said(note))

    # Output

    async def _converse(self, client: ControlClient) -> None:
        await self._follow(client)
        while True:
            async with AsyncExitStack() as stack:
                client = await self._again(stack)
                with suppress(NanobotError):  # it left at once
                    self._hello = await client.attach(self._session, self._locale)
                    self._page.note(f"{said('Connected again.')} {said(self._hello.model)}")
                    await self._follow(client)

    async def _follow(self, client: ControlClient) -> None:
        """Process incoming items until the connection ends."""
        self._client = client
        for key, text in self._transcript.unsent.items():
            self._send(key, text)
        with suppress(Disconnected):
            async for answer in client.answers():
                self._see(answer)
        self._client = None
        self._stopping = False
        self._transcript.broken()
        if self._hello is not None and self._hello.gateway:
            self._page.note(said(_ENDED))

    async def _again(self, stack: AsyncExitStack) -> ControlClient:
        """Connect to the next process that serves the home. Wait for a gateway to return; after a
        terminal that served only while its person was present, this process serves.
        """
        path = self._config.home / "control.sock"
        while self._hello is None or self._hello.gateway:
            client = await ControlClient.connect(path)
            if client is not None:
                stack.push_async_callback(client.close)
                return client
            await asyncio.sleep(_RECONNECT_SECONDS)
        problem = ""
        while True:
            try:
                return await stack.enter_async_context(
                    connected(self._config, self._environ, greets=True)
                )
            except NanobotError as error:  # another terminal may have been faster
                if problem != (problem := said(str(error))):
                    self._page.note(problem)
            await asyncio.sleep(_RECONNECT_SECONDS)

    def _see(self, answer: Answer) -> None:
        self._transcript.see(answer)
        self._seen.set()
        if isinstance(answer, ShowMessage) and self._client is not None:
            self._client.was_shown(answer.key)
        if dropped := self._transcript.dropped:
            self._editor.text = "\n".join([*dropped, *filter(None, [self._editor.text])])
            dropped.clear()
            back = "Your queued text is back on the prompt: Enter sends it, Ctrl-C clears it."
            self._page.note(said(back))
        if not (isinstance(answer, Taken) or self._transcript.busy):
            self._stopping = False
        self._editor.refresh()

    # Animation

    def _live(self, rows: int) -> str:
        lost = said(_LOST) if self._client is None and self._transcript.unsent else ""
        armed = "" if self._editor.text else self._armed
        return self._page.live(self._transcript, lost or armed, time.monotonic(), rows)

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
