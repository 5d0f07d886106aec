"""The page of a conversation in a terminal: settled lines go to the scrollback, unsettled ones are
above the input.
"""

from __future__ import annotations

from collections.abc import Callable

from nanobot.cli.language import said
from nanobot.messages import Choice
from nanobot.plugins.terminal.markdown import Ink, ending
from nanobot.plugins.terminal.transcript import Transcript

_SAID_LINES = 12
"""The most lines of one's own message to echo; a person who pasted a file knows its content."""
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPARE_ROWS = 6

Size = Callable[[], tuple[int, int]]
"""Columns and rows."""


class TerminalPage:
    """The page of a Transcript in a terminal; `put` writes to the scrollback.

    Every line is narrower than the terminal, so that none wraps when it is narrowed by one column.
    """

    def __init__(self, ink: Ink, put: Callable[[str], None], size: Size) -> None:
        self._ink = ink
        self._put = put
        self._size = size
        self._last = ""

    # Settled lines

    def said(self, text: str) -> None:
        """A person's message; only the beginning if it is long."""
        lines = text.split("\n")
        if len(lines) > _SAID_LINES:
            more = len(lines) - _SAID_LINES
            lines[_SAID_LINES:] = [f"... ({more} more lines)" if more > 1 else "... (1 more line)"]
        self._keep("said", self._ink.text("\n".join(lines), self._width, "bold", mark="> "))

    def answer(self, text: str) -> None:
        self._keep("answer", self._ink.markdown(text, self._width))

    def choices(self, choices: tuple[Choice, ...]) -> None:
        """One line per choice, numbered from 1, and how to choose."""
        drawn = [
            self._ink.text(choice.label, self._width, mark=f" {number}. ")
            for number, choice in enumerate(choices, 1)
        ]
        how = said("Type a number, or answer in your own words.")
        self._keep("choices", "".join([*drawn, self._ink.text(how, self._width, "dim")]))

    def called(self, call: str, *, ok: bool, ms: int | None, text: str) -> None:
        """One line: a mark, the call, its duration, and its error."""
        mark, style = ("✓", "green") if ok else ("✗", "red")
        took = "" if ms is None else f"{ms / 1000:.1f} s"
        if ms is None:
            mark, style = "–", "dim"
        why = "" if ok or not text else text.splitlines()[0]
        tail = "  ".join(["", *filter(None, (took, why))])
        name, _, arguments = call.partition(" ")
        # The duration must be visible, so the arguments are shortened.
        room = max(self._width - len(name) - len(took or why) - 8, 8)
        if len(arguments) > room:
            arguments = arguments[: room - 1] + "…"
        parts = [(mark, style), (f" {name} ", ""), (arguments, "dim"), (tail, "dim")]
        self._keep("call", self._ink.line(parts, self._width))

    def note(self, text: str) -> None:
        """A line from the program itself."""
        self._keep("note", self._ink.text(text, self._width, "dim"))

    def fits(self, text: str) -> bool:
        room = self._size()[1] - _SPARE_ROWS
        if text.count("\n") > 2 * room:
            return False
        return self._ink.markdown(text, self._width).count("\n") <= room

    # Changing lines

    def live(self, transcript: Transcript, notice: str, moment: float, rows_below: int) -> str:
        """The lines above the input: the unfinished answer, pending messages, progress."""
        width = self._width
        below = [
            self._ink.line([(f"> {text}", "dim"), (f"  ({said('waiting')})", "dim")], width)
            for text in transcript.waiting[-3:]
        ]
        if self._last or transcript.tail:
            below.append("\n")
        status = transcript.status()
        if notice:
            below.append(self._ink.line([(notice, "dim")], width))
        elif status:
            mark = _SPINNER[int(moment * 8) % len(_SPINNER)]
            parts = [(mark, "cyan"), (f" {status} · {said('Ctrl-C stops')}", "dim")]
            below.append(self._ink.line(parts, width))
        # The top row stays empty: some terminals (tmux) copy to their scrollback what is erased
        # from that row on.
        room = max(self._size()[1] - len(below) - rows_below - 1, 1)
        return "".join([*self._unfinished(transcript.tail, room), *below])

    def _unfinished(self, tail: str, room: int) -> list[str]:
        if not tail.strip():
            return []
        lines = self._ink.markdown(ending(tail, 2 * room), self._width).splitlines(keepends=True)
        if self._gap("answer"):
            lines.insert(0, "\n")
        return lines[-room:]

    # Spacing

    @property
    def _width(self) -> int:
        return max(self._size()[0] - 1, 10)

    def _keep(self, kind: str, drawn: str) -> None:
        gap = self._gap(kind)
        self._last = kind
        self._put("\n" + drawn if gap else drawn)

    def _gap(self, kind: str) -> bool:
        """Whether it follows a blank line: before messages, and between different kinds."""
        if not self._last:
            return False
        if kind == "said" or kind == self._last == "answer":
            return True
        return self._last != "said" and kind not in (self._last, "choices")
