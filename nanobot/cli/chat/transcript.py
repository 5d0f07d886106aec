"""What a person has before them in a conversation: what is settled, what is being written, who is
waiting. No terminal in here: a Paper keeps what is settled, and asks for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from nanobot.cli.chat.markdown import settled
from nanobot.messages import Choice, EventKind, OutboundKind, RunEvent, RunPayload
from nanobot.server.protocol import Answer, EventLine, Refusal, ShowMessage, Taken

_QUIET_SECONDS = 2.0
"""A wait that is shorter needs no number."""


class ScrollbackPage(Protocol):
    """Where settled things are kept for good, in order."""

    def said(self, text: str) -> None:
        """What the person said."""
        ...

    def answer(self, text: str) -> None:
        """What they got, or a part of it: whole blocks of Markdown."""
        ...

    def choices(self, choices: tuple[Choice, ...]) -> None:
        """Answers to choose from, numbered from 1."""
        ...

    def called(self, call: ToolCallLine, *, ok: bool, ms: int | None, text: str) -> None:
        """A tool call that ended; without `ms`, one that was cut off."""
        ...

    def earlier(self) -> None:
        """What comes next answers something from before."""
        ...

    def note(self, text: str) -> None:
        """A line of the program itself."""
        ...

    def fits(self, text: str) -> bool:
        """Whether the unsettled Markdown can be seen at once."""
        ...


class ToolCallLine(msgspec.Struct, frozen=True):
    """A tool call as people see it."""

    name: str
    arguments: str

    def __str__(self) -> str:
        """Name and arguments, without JSON where that is possible."""
        try:
            values = msgspec.json.decode(self.arguments, type=dict[str, Any])
        except msgspec.DecodeError:
            shown = self.arguments
        else:
            named = [f"{name}={value}" for name, value in values.items()]
            shown = str(next(iter(values.values()))) if len(values) == 1 else ", ".join(named)
        return " ".join([self.name, *shown.split()])


class _Draft:
    """The answer of one model call as far as it is written; `kept` of it is on paper already."""

    def __init__(self) -> None:
        self.call = ("", 0)
        self.text = ""
        self.thought = ""
        self.kept = 0
        self.tried = 0

    def begin(self, call: tuple[str, int]) -> None:
        self.__init__()  # type: ignore[misc]
        self.call = call

    @property
    def rest(self) -> str:
        return self.text[self.kept :]

    def rest_of(self, whole: str) -> str:
        """What of the final text is not on paper; all of it, should it begin otherwise."""
        kept = self.text[: self.kept].strip()
        return whole.removeprefix(kept)


_UNASKED = (OutboundKind.POST, OutboundKind.APPROVAL)
"""What comes in the middle of a conversation without being its answer."""


class Transcript:
    """Follows one conversation. `choices` are the answers proposed by the last message."""

    def __init__(self, paper: ScrollbackPage, monotonic: Callable[[], float]) -> None:
        self.choices: tuple[Choice, ...] = ()
        self._paper = paper
        self._monotonic = monotonic
        self._draft = _Draft()
        self._calls: dict[str, ToolCallLine] = {}
        self._runs: dict[str, bool] = {}
        self._unsent: dict[str, str] = {}
        self._unanswered: set[str] = set()
        self._unwritten: dict[str, str] = {}
        self._waiting: dict[int, str] = {}
        self._begun: set[int] = set()
        self._drawn: set[str] = set()
        self._received: set[str] = set()
        self._trouble = ""
        self._asks = False
        self._since = 0.0
        self._fresh = True

    # What there is to see

    @property
    def tail(self) -> str:
        """The Markdown that is being written."""
        return self._draft.rest

    @property
    def waiting(self) -> list[str]:
        """What the person said that nobody has taken up yet."""
        return list(self._unwritten.values())

    @property
    def busy(self) -> bool:
        """Whether something is on its way."""
        live = any(self._runs.values())
        return live or bool(self._waiting or self._unsent or self._unanswered)

    @property
    def unacknowledged(self) -> bool:
        """Whether an answer stands here whose message has not come yet: it would come again."""
        return not self._drawn <= self._received

    def status(self) -> str:
        """One line on what is going on; empty when nothing is."""
        if not self.busy:
            return ""
        seconds = self._monotonic() - self._since
        return self._doing() + (f" · {seconds:.0f} s" if seconds >= _QUIET_SECONDS else "")

    def _doing(self) -> str:
        for call in self._calls.values():
            return str(call)
        if self._trouble:
            return self._trouble
        if self._asks:
            return "waiting for your answer"
        if self._draft.text.strip():
            return "writing"
        if thought := " ".join(self._draft.thought.split()):
            return f"thinking: {thought[-40:]}"
        return "thinking"

    # What happens

    def say(self, key: str, text: str, *, silent: bool = False) -> None:
        """The person says something. It is written down now, or when its turn comes, or never."""
        self.choices = ()
        waits = self.busy
        if not waits:
            self._since = self._monotonic()
        self._unsent[key] = text
        if waits and not silent:
            self._unwritten[key] = text
        elif not silent:
            self._paper.said(text)

    @property
    def unsent(self) -> dict[str, str]:
        """What has been said and not been taken, by key: to be said again after a break."""
        return dict(self._unsent)

    def broken(self) -> None:
        """The connection ended: nobody knows what runs, and what is shown may be cut off."""
        self._give_up_draft()
        self._runs.clear()
        self._waiting.clear()
        self._unanswered.clear()
        self._asks = False
        self._fresh = True

    def leave(self) -> None:
        """The person leaves: what is on the screen stays there."""
        self._give_up_draft()
        for key in list(self._unwritten):
            self._write(key)

    def see(self, answer: Answer) -> None:
        match answer:
            case EventLine(event):
                self._fresh = False
                self._event(event)
            case Taken():
                self._taken(answer)
            case ShowMessage():
                self._message(answer)
            case Refusal(text, key):
                self._write(key)
                self._unsent.pop(key, None)
                self._paper.note(text)
            case _:
                pass

    def _taken(self, taken: Taken) -> None:
        text = self._unsent.pop(taken.key, "")
        if taken.stopped:
            self._give_up_draft()
            self._runs.update(dict.fromkeys(self._runs, False))
        if taken.stopped or text.split(maxsplit=1)[:1] == ["/stop"]:
            # What waited is settled by the same order.
            for key in self._waiting.values():
                self._write(key)
            self._waiting.clear()
        if taken.answered:
            if f":{taken.key}" not in self._received:
                self._unanswered.add(taken.key)
        elif not taken.stopped and taken.inbound_id not in self._begun:
            self._waiting[taken.inbound_id] = taken.key

    def _message(self, message: ShowMessage) -> None:
        if message.key in self._received:
            return
        head, _, tail = message.key.rpartition(":")
        self._received |= {message.key, f":{tail}"}
        own = tail in self._unanswered or tail in self._unsent
        self._unanswered.discard(tail)
        self._write(tail)
        if message.key not in self._drawn:
            self._drawn.add(message.key)
            if head in self._runs:
                self._finish_draft(message.text)
            else:
                live = message.kind in _UNASKED and not self._fresh
                if not own and not live:
                    self._paper.earlier()
                self._paper.answer(message.text)
        self.choices = message.choices
        if message.choices:
            self._paper.choices(message.choices)

    # The run

    def _event(self, event: RunEvent) -> None:
        payload = event.payload
        if event.kind is not EventKind.END and not self._goes_on(event.run_id):
            return
        self._asks = event.kind is EventKind.APPROVAL
        match event.kind:
            case EventKind.STATUS:
                self._status(payload)
            case EventKind.MODEL_DELTA:
                self._delta((event.run_id, event.model_call), payload)
            case EventKind.ASSISTANT_MESSAGE:
                self._trouble = ""
                if payload.get("tool_calls"):
                    self._finish_draft(payload.get("text", ""))
            case EventKind.TOOL_CALL:
                call = ToolCallLine(payload.get("name", ""), payload.get("arguments", ""))
                self._calls[payload.get("key", "")] = call
            case EventKind.TOOL_RESULT:
                self._result(payload)
            case EventKind.END:
                self._end(event.run_id, payload)
            case _:
                pass

    def _goes_on(self, run: str) -> bool:
        """Whether the run lives, as far as we know. One that was stopped may still stream."""
        if run not in self._runs:
            if not self.busy:
                self._since = self._monotonic()
            self._runs[run] = True
        return self._runs[run]

    def _status(self, payload: RunPayload) -> None:
        for number in payload.get("inbound_ids", ()):
            self._begun.add(number)
            key = self._waiting.pop(number, None)
            if key is not None:
                self._write(key)
        if payload.get("state") in ("retrying", "fallback"):
            self._restart()
            other = payload.get("model")
            now = f"asking {other}" if other else "trying again"
            self._trouble = f"{payload.get('why')}; {now}"

    def _delta(self, call: tuple[str, int], payload: RunPayload) -> None:
        self._trouble = ""
        if call != self._draft.call:
            self._restart()
            self._draft.begin(call)
        draft = self._draft
        draft.thought = (draft.thought + payload.get("reasoning", ""))[-200:]
        piece = payload.get("text", "")
        draft.text = draft.text + piece if draft.text else piece.lstrip()
        if "\n" in piece and len(draft.rest) > draft.tried and not self._paper.fits(draft.rest):
            self._keep_settled(draft)

    def _keep_settled(self, draft: _Draft) -> None:
        end = settled(draft.rest)
        blocks = draft.rest[:end]
        draft.kept += end
        # A block of a thousand lines is not looked through at each of them.
        draft.tried = len(draft.rest) * 11 // 10 if not end else 0
        if blocks:
            self._paper.answer(blocks)

    def _restart(self) -> None:
        """What was streamed is void; what is on paper already has to be said to be."""
        if self._draft.kept:
            self._paper.note("(The answer was cut off here; it begins again.)")
        self._draft.begin(("", 0))

    def _finish_draft(self, whole: str) -> None:
        rest = self._draft.rest_of(whole.strip())
        self._draft.begin(("", 0))
        if rest.strip():
            self._paper.answer(rest.lstrip("\n"))

    def _give_up_draft(self) -> None:
        self._finish_draft(self._draft.text)
        for call in self._calls.values():
            self._paper.called(call, ok=False, ms=None, text="")
        self._calls.clear()

    def _result(self, payload: RunPayload) -> None:
        call = self._calls.pop(payload.get("key", ""), ToolCallLine(payload.get("name", ""), ""))
        text, ms = payload.get("text", ""), payload.get("ms", 0)
        self._paper.called(call, ok=payload.get("ok", False), ms=ms, text=text)

    def _end(self, run: str, payload: RunPayload) -> None:
        self._runs[run] = False
        self._trouble = ""
        key, text = f"{run}:0", payload.get("text", "")
        if text and key not in self._drawn:
            self._drawn.add(key)
            self._finish_draft(text)
        else:
            self._give_up_draft()

    def _write(self, key: str) -> None:
        text = self._unwritten.pop(key, None)
        if text is not None:
            self._paper.said(text)
