"""One message, its answer, and exit: `nanobot agent -m`."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
import time

import msgspec

from nanobot.cli.output import harmless
from nanobot.errors import ConfigError, ModelError, NanobotError
from nanobot.messages import EventKind, RunEvent, RunPayload
from nanobot.plugins.common.commands.output import piece, record, warn
from nanobot.plugins.common.control.client import ControlClient
from nanobot.plugins.common.control.protocol import Aborted, Answer, EventLine, Refusal, ShowMessage
from nanobot.plugins.terminal.plain import call_line, record_message, trouble, with_choices
from nanobot.session import keys
from nanobot.system import RandomIds

_FRAME_SECONDS = 1.0


class OneMessage(msgspec.Struct, frozen=True):
    """One message, with the pictures at these absolute paths. `files` are those whose content is in
    the text; `outside`: part of it was piped in, not typed by a person.
    """

    text: str
    images: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    outside: bool = False


class OneAnswer:
    """The answer to one message, which has a separate run. Standard output gets only the answer;
    standard error gets progress, and the number of other pending messages of the session.
    """

    def __init__(self, client: ControlClient, *, json: bool) -> None:
        self._client = client
        self._json = json
        self._key = RandomIds().run_id()
        self._began = time.monotonic()
        self._doing = "thinking"
        self._watched = sys.stderr.isatty() and not json
        self._earlier = self._stopped_by = 0
        self._ended_with: int | None = None
        self._exit_code: int | None = None

    async def to(self, message: OneMessage) -> int:
        """Send it, show the output, return the exit code. The first signal ends the run, the second
        one exits without waiting for that.
        """
        self._client.say(
            message.text,
            self._key,
            images=message.images,
            files=message.files,
            outside=message.outside,
            attended=False,
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop, number)
        async with asyncio.TaskGroup() as tasks:
            progress = tasks.create_task(self._progress(), name="agent: progress")
            async for answer in self._client.answers():
                self._see(answer)
                if self._exit_code is not None:
                    break
            progress.cancel()
        if self._earlier:
            messages = "message" if self._earlier == 1 else "messages"
            warn(f"({self._earlier} earlier {messages} of this conversation not shown here.)")
        return self._exit_code or 0

    def _stop(self, number: signal.Signals) -> None:
        if self._stopped_by:
            raise KeyboardInterrupt
        self._stopped_by = number
        self._client.abort_asked(self._key)

    async def _progress(self) -> None:
        while self._watched:
            await asyncio.sleep(_FRAME_SECONDS)
            seconds = time.monotonic() - self._began
            _show(f"{self._doing} · {seconds:.0f} s · Ctrl-C stops")

    def _see(self, answer: Answer) -> None:
        match answer:
            case EventLine(event) if event.run_id == self._key:
                self._event(event)
            case ShowMessage():
                self._message(answer)
            case Refusal(text, code=code):
                self._tell(f"nanobot: {text}")
                self._exit_code = code
            case Aborted():
                self._tell("Stopped.")
                self._exit_code = 128 + self._stopped_by
            case _:
                pass

    def _event(self, event: RunEvent) -> None:
        if self._json:
            record(event)
        payload = event.payload
        if line := trouble(event):
            self._tell(f"[{line}]")
        match event.kind:
            case EventKind.MODEL_DELTA:
                self._doing = "writing"
            case EventKind.TOOL_CALL:
                self._doing = call_line(payload)
            case EventKind.TOOL_RESULT:
                self._doing = "thinking"
            case EventKind.END:
                self._ended_with = _exit_code(payload)
                if not payload.get("text"):
                    self._exit_code = self._ended_with
            case _:
                pass

    def _message(self, message: ShowMessage) -> None:
        """Our own message, or one that was pending here before."""
        self._client.was_shown(message.key)
        command = message.key.endswith(f":{self._key}")
        if not command and message.key != keys.answer(self._key):
            self._earlier += 1
            return
        if self._json:
            record_message(message, earlier=False)
        elif self._ended_with in _NO_ANSWER:
            self._tell(with_choices(message))
        else:
            self._clear()
            piece(f"{with_choices(message)}\n")
        self._exit_code = self._ended_with or 0

    def _tell(self, line: str) -> None:
        self._clear()
        warn(line)

    def _clear(self) -> None:
        if self._watched:
            _show("")


_NO_ANSWER = (ConfigError.exit_code, ModelError.exit_code)
"""This message explains why there is no answer: it goes to standard error."""


def _exit_code(payload: RunPayload) -> int:
    if payload.get("state") == "completed":
        return 0
    kinds: list[type[NanobotError]] = [ConfigError, *ModelError.__subclasses__()]
    names = {kind.__name__: kind.exit_code for kind in kinds}
    return names.get(str(payload.get("error")), 1)


def _show(text: str) -> None:
    """Show a line on standard error that the next one replaces; an empty one removes it."""
    width = shutil.get_terminal_size((80, 24)).columns - 1
    sys.stderr.write(f"\r\x1b[K{harmless(text)[:width]}")
    sys.stderr.flush()
