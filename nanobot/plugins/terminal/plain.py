"""A conversation line by line, for output without cursor control: plain text, or JSON for
programs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import msgspec

from nanobot.messages import EventKind, RunEvent, RunPayload
from nanobot.plugins.common.commands.output import piece, record, warn
from nanobot.plugins.common.control.client import ControlClient
from nanobot.plugins.common.control.protocol import EventLine, PeerMessage, Refusal, ShowMessage
from nanobot.plugins.terminal.mentions import say_typed
from nanobot.system import RandomIds

_ARGUMENTS_CHARS = 500
LEAVING = ("exit", "quit", "/exit", "/quit")
"""The words with which a person leaves."""


def call_line(payload: RunPayload) -> str:
    """A tool call as people see it: its name and arguments, without JSON if possible."""
    arguments = payload.get("arguments", "")
    try:
        values = msgspec.json.decode(arguments, type=dict[str, Any])
    except msgspec.DecodeError:
        shown = arguments
    else:
        named = [f"{name}={value}" for name, value in values.items()]
        shown = str(next(iter(values.values()))) if len(values) == 1 else ", ".join(named)
    return " ".join([payload.get("name", ""), *shown[:_ARGUMENTS_CHARS].split()])


def trouble(event: RunEvent) -> str:
    """The error of a model call that is retried; empty for every other event."""
    if event.payload.get("state") not in ("retrying", "fallback"):
        return ""
    other = event.payload.get("model")
    return f"{event.payload.get('why')}; {f'asking {other}' if other else 'trying again'}"


def with_choices(message: ShowMessage) -> str:
    """The message with its numbered choices."""
    lines = [f"{number}. {choice.label}" for number, choice in enumerate(message.choices, 1)]
    return "\n".join([message.text, *lines])


def record_message(message: ShowMessage, *, earlier: bool) -> None:
    """A message that is not part of a current run, as a line of kind `message` with `key`, `why`
    (reply, notice, approval or post), `text`, `choices` and `earlier`: whether it answers something
    from before. The output of a run is in its events.
    """
    if message.key.startswith("notice:") or earlier:
        line = msgspec.to_builtins(message) | {"kind": "message", "why": message.kind}
        del line["op"]
        record(line | {"earlier": earlier})


class PlainConversation:
    """The input, one message per line (more if lines end with a backslash), and the output."""

    def __init__(self, client: ControlClient, *, json: bool) -> None:
        self._client = client
        self._json = json
        self._prompts = sys.stdin.isatty() and not json
        self._ids = RandomIds()
        self._spoken = self._busy = False
        self._streamed = ""
        self._call = ("", 0)

    async def run(self) -> int:
        """Talk until end of input; returns the exit code. Ctrl-C stops the run; if none is active,
        it leaves.
        """
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupted)
        lines = _stdin_lines()
        async with asyncio.TaskGroup() as tasks:
            answers = tasks.create_task(self._show_answers(), name="agent: answers")
            self._prompt()
            begun = ""
            while line := (await lines.readline()).decode("utf-8", "replace"):
                text = begun + line.removesuffix("\n")
                if text.endswith("\\"):
                    begun = text[:-1] + "\n"
                    continue
                begun = ""
                if text.strip().lower() in LEAVING:
                    break
                self._typed(text)
            answers.cancel()
        return 0

    def _typed(self, text: str) -> None:
        if not text.strip():
            self._prompt()
            return
        self._spoken = self._busy = True
        if note := say_typed(self._client, text, self._ids.run_id()):
            warn(note)

    def _interrupted(self) -> None:
        if not self._busy:
            raise KeyboardInterrupt
        self._typed("/stop")

    def _prompt(self) -> None:
        if self._prompts:
            piece("> ")

    async def _show_answers(self) -> None:
        async for answer in self._client.answers():
            match answer:
                case EventLine(event) if self._json:
                    record(event)
                case EventLine(event):
                    self._event(event)
                case ShowMessage():
                    self._message(answer, earlier=not self._spoken)
                    self._client.was_shown(answer.key)
                case PeerMessage(text):
                    warn(f"(in another terminal: {text})")
                case Refusal(text):
                    warn(text)
                case _:
                    pass
            if isinstance(answer, ShowMessage | Refusal):
                self._busy = False
                self._prompt()

    def _event(self, event: RunEvent) -> None:
        """Deltas are shown as they arrive; a retried call starts on a new line."""
        if event.kind is EventKind.MODEL_DELTA:
            if (event.run_id, event.model_call) != self._call:
                self._end_stream()
                self._call = (event.run_id, event.model_call)
            text = event.payload.get("text", "")
            self._streamed += text
            piece(text)
            return
        line = trouble(event)
        if event.kind is EventKind.TOOL_CALL:
            line = call_line(event.payload)
        if line:
            self._end_stream()
            warn(f"[{line}]")

    def _message(self, message: ShowMessage, *, earlier: bool) -> None:
        """The whole text, or the part that has not been streamed."""
        if self._json:
            record_message(message, earlier=earlier)
            return
        text, streamed = with_choices(message), self._streamed.strip()
        if earlier:
            warn("(an answer from before)")
        if streamed and text.startswith(streamed):
            text = text.removeprefix(streamed)
            self._streamed = ""
        self._end_stream()
        piece(f"{text}\n")

    def _end_stream(self) -> None:
        if self._streamed:
            piece("\n")
        self._streamed = ""


def _stdin_lines() -> asyncio.StreamReader:
    """The input; a terminal delivers whole lines."""
    loop, lines, descriptor = asyncio.get_running_loop(), asyncio.StreamReader(), sys.stdin.fileno()

    def read() -> None:
        data = os.read(descriptor, 65_536)
        if data:
            lines.feed_data(data)
        else:
            loop.remove_reader(descriptor)
            lines.feed_eof()

    loop.add_reader(descriptor, read)
    return lines
