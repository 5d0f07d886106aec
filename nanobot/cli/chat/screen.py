"""What a terminal shows of a conversation."""

from __future__ import annotations

import sys
from typing import TypeAlias

import msgspec

from nanobot.cli.output import piece, record, warn
from nanobot.messages import EventKind, RunEvent
from nanobot.server.protocol import ShowMessage

_PROMPT = "> "
_ARGUMENTS_CHARS = 500


class PlainScreen:
    """Plain text. `streaming` shows the answer while it is written."""

    def __init__(self, *, streaming: bool) -> None:
        self._streaming = streaming
        self._interactive = sys.stdin.isatty()
        self._streamed = ""
        self._call = ("", 0)

    def say(self, text: str) -> None:
        """A line of the program itself, on standard error."""
        warn(text)

    def prompt(self) -> None:
        """The prompt, where somebody types."""
        if self._interactive:
            piece(_PROMPT)

    def event(self, event: RunEvent) -> None:
        """Deltas are shown as they come; a call that starts again starts on a new line."""
        if not self._streaming:
            return
        if event.kind is EventKind.MODEL_DELTA:
            text = event.payload.get("text", "")
            if (event.run_id, event.model_call) != self._call:
                self._end_stream()
                self._call = (event.run_id, event.model_call)
            self._streamed += text
            piece(text)
        elif event.kind is EventKind.TOOL_CALL:
            self._end_stream()
            arguments = event.payload.get("arguments", "")[:_ARGUMENTS_CHARS]
            self.say(f"[{event.payload.get('name')} {arguments}]")
        elif event.kind is EventKind.STATUS and (
            event.payload.get("state") in ("retrying", "fallback")
        ):
            self._end_stream()
            other = event.payload.get("model")
            now = f"asking {other}" if other else "trying again"
            self.say(f"[{event.payload.get('why')}; {now}]")

    def message(self, message: ShowMessage, *, earlier: bool) -> None:
        """The whole text, or what of it has not been streamed."""
        text = _with_choices(message)
        if earlier:
            self.say("(an answer from before)")
        if self._streamed and text.startswith(self._streamed.strip()):
            rest = text[len(self._streamed.strip()) :]
            self._streamed = ""
            piece(f"{rest}\n")
            return
        self._end_stream()
        piece(f"{text}\n")

    def _end_stream(self) -> None:
        if self._streamed:
            piece("\n")
        self._streamed = ""


def _with_choices(message: ShowMessage) -> str:
    lines = [f"{number}. {choice.label}" for number, choice in enumerate(message.choices, 1)]
    return "\n".join([message.text, *lines])


class JsonScreen:
    """One RunEvent a line on standard output; what no run of now says as a line of kind `message`.

    Such a line has `key`, `why` (reply, notice, approval or post), `text`, `choices` and `earlier`:
    whether it answers something from before.
    """

    def say(self, text: str) -> None:
        """A line of the program itself, on standard error."""
        warn(text)

    def prompt(self) -> None:
        """Programs need no prompt."""

    def event(self, event: RunEvent) -> None:
        record(event)

    def message(self, message: ShowMessage, *, earlier: bool) -> None:
        """Messages are in the events of their runs; only what no run said is told here."""
        if message.key.startswith("notice:") or earlier:
            line = {
                "kind": "message",
                "key": message.key,
                "why": message.kind,
                "text": message.text,
                "choices": msgspec.to_builtins(message.choices),
                "earlier": earlier,
            }
            record(line)


Screen: TypeAlias = PlainScreen | JsonScreen
