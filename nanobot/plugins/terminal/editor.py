"""The input of a conversation, at the bottom of the terminal; everything else scrolls above it.

One prompt owns the screen for the whole conversation: settled lines are printed above it and
unsettled ones are drawn inside it, so nothing is ever overwritten.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from nanobot.errors import StoreUnwritable
from nanobot.plugins.terminal.completion import Commands

_MENU_ROWS = 6
_FRAMES = 15
# Terminals that support this (most do) show an update at once; others ignore it.
_TOGETHER, _SHOWN = "\x1b[?2026h", "\x1b[?2026l"
_STYLE = {
    "completion-menu": "noinherit",
    "completion-menu.completion": "noinherit",
    "completion-menu.completion.current": "reverse",
    "completion-menu.meta.completion": "noinherit",
    "completion-menu.meta.completion.current": "reverse",
    "scrollbar.background": "noinherit",
    "scrollbar.button": "noinherit",
}


class Editor:
    """Reads a person's input. `on_text` receives each message, `on_interrupt` each Ctrl-C; `live`
    returns the lines above the input, given the number of rows that the input itself takes.
    """

    def __init__(
        self,
        history: Path,
        commands: Commands,
        live: Callable[[int], str],
        *,
        colour: bool,
        term: str,
    ) -> None:
        self.on_text: Callable[[str], None] = lambda _text: None
        self.on_interrupt: Callable[[], None] = lambda: None
        self._live = live
        self._mark = "\x1b[1m> " if colour else "> "
        self._above = (-1, ANSI(""))
        self._output = Vt100_Output.from_pty(sys.stdout, term=term)
        self._output.enable_cpr = False
        completer = _Completer(commands)
        self._session: PromptSession[int] = PromptSession(
            self._prompt,
            history=FileHistory(_private(history)),
            completer=completer,
            complete_while_typing=Condition(lambda: completer.begins(self._buffer.document)),
            multiline=True,
            prompt_continuation="  ",
            search_ignore_case=True,
            reserve_space_for_menu=_MENU_ROWS,
            key_bindings=self._keys(),
            style=Style.from_dict(_STYLE),
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            include_default_pygments_style=False,
            erase_when_done=True,
            input=create_input(sys.stdin),
            output=self._output,
        )
        self._application = self._session.app
        self._application.min_redraw_interval = 1 / _FRAMES
        self._buffer = self._session.default_buffer

    async def run(self) -> int:
        """Read until the person leaves; returns the exit code."""
        try:
            return await self._session.prompt_async(set_exception_handler=False)
        except EOFError:
            # The terminal itself has closed.
            return 0

    def leave(self, code: int) -> None:
        """End `run`."""
        if self._application.is_running and not self._application.is_done:
            self._application.exit(result=code)

    def put(self, drawn: str) -> None:
        """Write to the scrollback, above the input."""
        output, application = self._output, self._application
        if not application.is_running or application.is_done:
            output.write_raw(drawn)
            output.flush()
            return
        output.write_raw(_TOGETHER)
        application.renderer.erase()
        output.write_raw(drawn)
        # The last layout is cached by this number.
        application.render_counter += 1
        application.renderer.render(application, application.layout)
        output.write_raw(_SHOWN)
        output.flush()

    def refresh(self) -> None:
        """The content above the input has changed."""
        self._application.invalidate()

    def size(self) -> tuple[int, int]:
        size = self._output.get_size()
        return size.columns, size.rows

    @property
    def text(self) -> str:
        """The current input."""
        return self._buffer.text

    @text.setter
    def text(self, text: str) -> None:
        self._buffer.reset(Document(text))

    def _prompt(self) -> ANSI:
        """Called several times per frame, but rendered once."""
        frame = self._application.render_counter
        if self._above[0] != frame:
            self._above = frame, ANSI(f"{self._live(self._rows())}{self._mark}")
        return self._above[1]

    def _rows(self) -> int:
        """The number of rows of the input and its menu."""
        columns, rows = self.size()
        typed = sum(1 + (len(line) + 2) // columns for line in self._buffer.text.split("\n"))
        menu = _MENU_ROWS if self._buffer.complete_state else 0
        return min(typed, max(rows // 3, 1)) + menu

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        keys.add("enter", filter=~is_searching)(self._entered)
        keys.add("escape", "enter")(lambda event: event.current_buffer.newline())
        keys.add("c-c", filter=~is_searching)(lambda _event: self.on_interrupt())
        keys.add("<sigint>")(lambda _event: self.on_interrupt())
        nothing_typed = Condition(lambda: not self._buffer.text) & ~is_searching
        keys.add("c-d", filter=nothing_typed)(lambda _event: self.leave(0))
        return keys

    def _entered(self, event: KeyPressEvent) -> None:
        """Send the message; a backslash at the end of the line continues it on the next."""
        buffer = event.current_buffer
        if buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline()
            return
        text = buffer.text = _as_utf8(buffer.text)
        if text.strip():
            buffer.append_to_history()
        buffer.reset()
        self.on_text(text)


def _as_utf8(text: str) -> str:
    """Typed bytes that are none of the terminal's characters, read as UTF-8, as piped ones are."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class _Completer(Completer):
    """Commands after a slash, paths after an @."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._paths = PathCompleter(expanduser=True)

    def begins(self, document: Document) -> bool:
        """Whether to show completions without being asked."""
        return document.text.startswith("/") or _word(document).startswith("@")

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        word = _word(document)
        if word.startswith("@"):
            for path in self._paths.get_completions(Document(word[1:]), event):
                yield _with_slash(path)
            return
        yield from self._commands.get_completions(document, event)


def _with_slash(path: Completion) -> Completion:
    """A folder with its trailing slash, so that Tab continues inside it."""
    if not path.display_text.endswith("/"):
        return path
    return Completion(f"{path.text}/", path.start_position, path.display)


def _word(document: Document) -> str:
    return document.get_word_before_cursor(WORD=True)


def _private(history: Path) -> str:
    """The history of input, which only its owner may read."""
    try:
        os.close(os.open(history, os.O_CREAT | os.O_WRONLY, 0o600))
        history.chmod(0o600)
    except OSError as error:
        raise StoreUnwritable(f"{history} cannot be written ({error.strerror})") from error
    return str(history)
