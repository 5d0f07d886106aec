"""A person's view of a conversation: settled output, unfinished output, and pending messages. It
knows no terminal: a page stores settled lines, and requests the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nanobot.cli.language import said
from nanobot.messages import Choice, EventKind, OutboundKind, RunEvent, RunPayload
from nanobot.plugins.common.control.protocol import (
    Answer,
    EventLine,
    PeerMessage,
    Refusal,
    ShowMessage,
    Taken,
)
from nanobot.plugins.terminal.markdown import settled
from nanobot.plugins.terminal.plain import call_line, trouble

_QUIET_SECONDS = 2.0
"""A shorter wait is shown without seconds."""
_UNASKED = (OutboundKind.POST, OutboundKind.APPROVAL)
"""Messages in the middle of a conversation that are not its answer."""


class _Page(Protocol):
    """Stores settled lines permanently, in order. Answers are whole blocks of Markdown; a call
    without `ms` has no result yet. `fits`: whether unsettled Markdown can be displayed completely.
    """

    def said(self, text: str) -> None: ...
    def answer(self, text: str) -> None: ...
    def choices(self, choices: tuple[Choice, ...]) -> None: ...
    def called(self, call: str, *, ok: bool, ms: int | None, text: str) -> None: ...
    def note(self, text: str) -> None: ...
    def fits(self, text: str) -> bool: ...


class _Draft:
    """The unfinished answer of one model call; the first `kept` characters are on the page
    already.
    """

    def __init__(self, call: tuple[str, int] = ("", 0)) -> None:
        self.call = call
        self.text = ""
        self.thought = ""
        self.kept = 0
        self.tried = 0

    @property
    def rest(self) -> str:
        return self.text[self.kept :]

    def rest_of(self, whole: str) -> str:
        """The part of the final text that is not on the page; all of it, if it begins
        differently.
        """
        return whole.removeprefix(self.text[: self.kept].strip())


class Transcript:
    """Follows one conversation. `choices` are the answers proposed by the last message; `dropped`
    are the person's pending messages that a stop took back.
    """

    def __init__(self, page: _Page, now: Callable[[], float]) -> None:
        self.choices: tuple[Choice, ...] = ()
        self.dropped: list[str] = []
        self._page = page
        self._now = now
        self._draft = _Draft()
        self._calls: dict[str, tuple[str, float]] = {}
        self._runs: dict[str, bool] = {}
        self._unsent: dict[str, str] = {}
        self._unanswered: set[str] = set()
        self._unwritten: dict[str, str] = {}
        self._waiting: dict[int, str] = {}
        self._begun: set[int] = set()
        self._peers: set[str] = set()
        self._drawn: set[str] = set()
        self._received: set[str] = set()
        self._trouble = ""
        self._asks = self._asks_words = False
        self._since = 0.0
        self._fresh = True

    # Display

    @property
    def tail(self) -> str:
        """The unfinished Markdown."""
        return self._draft.rest

    @property
    def waiting(self) -> list[str]:
        """Messages that have not been accepted yet."""
        return list(self._unwritten.values())

    @property
    def busy(self) -> bool:
        """Whether an item is expected."""
        live = any(self._runs.values())
        return live or bool(self._waiting or self._unsent or self._unanswered)

    @property
    def unacknowledged(self) -> bool:
        """Whether an answer is displayed whose message has not arrived yet: it would be shown
        twice.
        """
        return not self._drawn <= self._received

    def status(self) -> str:
        """One line on the current activity; empty when idle."""
        if not self.busy:
            return ""
        doing, since = self._doing()
        seconds = self._now() - since
        return doing + (f" · {seconds:.0f} s" if seconds >= _QUIET_SECONDS else "")

    def _doing(self) -> tuple[str, float]:
        for call, began in self._calls.values():
            return call, began
        doing = said("thinking")
        if self._trouble:
            doing = self._trouble
        elif self._asks:
            doing = said("waiting for your answer")
        elif self._draft.text.strip():
            doing = said("writing")
        elif thought := " ".join(self._draft.thought.split()):
            doing = f"{doing}: {thought[-40:]}"
        return doing, self._since

    # Events

    def say(self, key: str, text: str, *, silent: bool = False) -> None:
        """The person sends a message. It is displayed now, or when its turn comes, or never."""
        self.choices = ()
        waits = self.busy
        if not waits:
            self._since = self._now()
        self._unsent[key] = text
        if waits and not silent:
            self._unwritten[key] = text
        elif not silent:
            self._page.said(text)

    @property
    def unsent(self) -> dict[str, str]:
        """Messages that were sent but not accepted, by key: they must be sent again after a
        reconnect.
        """
        return dict(self._unsent)

    def broken(self) -> None:
        """The connection ended: the state of the run is unknown, and displayed output may be
        incomplete.
        """
        self._give_up_draft("cut off")
        self._runs.clear()
        self._waiting.clear()
        self._unanswered.clear()
        self._asks = self._asks_words = False
        self._fresh = True

    def leave(self, *, stays: bool) -> None:
        """The person leaves: the screen keeps its content. Without a gateway that `stays`, a call
        that has no result yet ends with this process.
        """
        self._give_up_draft("still running" if stays else "interrupted")
        for key in list(self._unwritten):
            self._write(key)

    def see(self, answer: Answer) -> None:
        match answer:
            case EventLine(event):
                self._fresh = False
                self._event(event)
            case Taken():
                self._taken(answer)
            case PeerMessage(text, taken):
                self._peers.add(taken.key)
                self.say(taken.key, text)
                self._taken(taken)
            case ShowMessage():
                self._message(answer)
            case Refusal(text, key):
                self._write(key)
                self._unsent.pop(key, None)
                self._page.note(said(text))
            case _:
                pass

    def _taken(self, taken: Taken) -> None:
        text = self._unsent.pop(taken.key, "")
        if taken.stopped:
            self._give_up_draft("stopped")
            self._runs.update(dict.fromkeys(self._runs, False))
            self._asks = self._asks_words = False
        if taken.stopped or text.split(maxsplit=1)[:1] == ["/stop"]:
            self._drop_waiting()
        if taken.answered:
            if f":{taken.key}" not in self._received:
                self._unanswered.add(taken.key)
        elif not taken.stopped and taken.inbound_id not in self._begun:
            self._waiting[taken.inbound_id] = taken.key
        elif taken.inbound_id in self._begun:
            self._write(taken.key)

    def _drop_waiting(self) -> None:
        """The same command settles pending messages: their author gets them back."""
        for key in self._waiting.values():
            text = self._unwritten.pop(key, "")
            if text and key not in self._peers:
                self.dropped.append(text)
        self._waiting.clear()

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
                live = message.kind in _UNASKED or message.key.startswith("approval:")
                if not own and (self._fresh or not live):
                    self._page.note(said("From before:"))
                self._page.answer(message.text)
        self.choices = message.choices
        if message.choices:
            self._page.choices(message.choices)

    # The run

    def _event(self, event: RunEvent) -> None:
        payload = event.payload
        if event.kind is not EventKind.END and not self._goes_on(event):
            return
        answered = self._asks_words and event.kind is EventKind.STATUS
        self._asks = event.kind is EventKind.APPROVAL
        match event.kind:
            case EventKind.STATUS:
                self._status(payload, trouble(event), answered=answered)
            case EventKind.MODEL_DELTA:
                self._delta((event.run_id, event.model_call), payload)
            case EventKind.ASSISTANT_MESSAGE:
                self._trouble = ""
                if payload.get("tool_calls"):
                    self._finish_draft(payload.get("text", ""))
            case EventKind.TOOL_CALL:
                self._calls[payload.get("key", "")] = call_line(payload), event.at
            case EventKind.TOOL_RESULT:
                self._result(payload)
            case EventKind.APPROVAL:
                self._asks_words = bool(payload.get("question"))
            case EventKind.END:
                self._end(event.run_id, payload)
            case _:
                pass

    def _goes_on(self, event: RunEvent) -> bool:
        """Whether the run is active, as far as known. A stopped run may still stream."""
        if event.run_id not in self._runs:
            if not self.busy:
                self._since = event.at
            self._runs[event.run_id] = True
        return self._runs[event.run_id]

    def _status(self, payload: RunPayload, line: str, *, answered: bool) -> None:
        for number in payload.get("inbound_ids", ()):
            self._begun.add(number)
            self._write(self._waiting.pop(number, ""))
        if answered and payload.get("state") == "running":
            # The first words after a question answer it; the run names only the message that began
            # it.
            self._asks_words = False
            if self._waiting:
                self._write(self._waiting.pop(min(self._waiting)))
        if line:
            self._restart()
            self._trouble = line

    def _delta(self, call: tuple[str, int], payload: RunPayload) -> None:
        self._trouble = ""
        if call != self._draft.call:
            self._restart(call)
        draft = self._draft
        draft.thought = (draft.thought + payload.get("reasoning", ""))[-200:]
        piece = payload.get("text", "")
        draft.text = draft.text + piece if draft.text else piece.lstrip()
        if "\n" in piece and len(draft.rest) > draft.tried and not self._page.fits(draft.rest):
            self._keep_settled(draft)

    def _keep_settled(self, draft: _Draft) -> None:
        end = settled(draft.rest)
        blocks = draft.rest[:end]
        draft.kept += end
        # Do not search a block of a thousand lines again at each of its lines.
        draft.tried = len(draft.rest) * 11 // 10 if not end else 0
        if blocks:
            self._page.answer(blocks)

    def _restart(self, call: tuple[str, int] = ("", 0)) -> None:
        """Discard the streamed text; what is on the page already is marked as discarded."""
        if self._draft.kept:
            self._page.note(said("(The answer was cut off here; it begins again.)"))
        self._draft = _Draft(call)

    def _finish_draft(self, whole: str) -> None:
        rest = self._draft.rest_of(whole.strip())
        self._draft = _Draft()
        if rest.strip():
            self._page.answer(rest.lstrip("\n"))

    def _give_up_draft(self, calls: str) -> None:
        """Settle the current output; `calls` tells how to mark calls without a result."""
        self._finish_draft(self._draft.text)
        for call, _began in self._calls.values():
            self._page.called(call, ok=False, ms=None, text=calls)
        self._calls.clear()

    def _result(self, payload: RunPayload) -> None:
        call, _began = self._calls.pop(payload.get("key", ""), ("", 0.0))
        ok, text = payload.get("ok", False), payload.get("text", "")
        if call or not ok:  # an answer from a person is already displayed
            name = call or payload.get("name", "")
            self._page.called(name, ok=ok, ms=payload.get("ms", 0), text=text)

    def _end(self, run: str, payload: RunPayload) -> None:
        self._runs[run] = False
        self._trouble = ""
        self._asks_words = False
        key, text = f"{run}:0", payload.get("text", "")
        if text and key not in self._drawn:
            self._drawn.add(key)
            self._finish_draft(text)
        self._give_up_draft("cut off")

    def _write(self, key: str) -> None:
        text = self._unwritten.pop(key, None)
        if text is not None:
            self._page.said(text)
