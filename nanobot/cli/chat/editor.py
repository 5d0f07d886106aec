"""The input of a conversation, at the bottom of the terminal, while everything else scrolls above.

One prompt_toolkit application for the whole conversation owns the screen: what is settled is put
above it, what is not stands in it, so that nothing is ever drawn over.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_completions, is_done, is_searching
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.containers import AnyContainer
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from nanobot.cli.chat.completion import Commands
from nanobot.errors import StoreUnwritable

_MENU_ROWS = 6
_FRAMES = 15
# Terminals that know this (most do) show a change whole; others ignore it.
_TOGETHER, _SHOWN = "\x1b[?2026h", "\x1b[?2026l"
_PLAIN_STYLE = {
    "completion-menu": "noinherit",
    "completion-menu.completion": "noinherit",
    "completion-menu.completion.current": "reverse",
    "completion-menu.meta.completion": "noinherit",
    "completion-menu.meta.completion.current": "reverse",
    "scrollbar.background": "noinherit",
    "scrollbar.button": "noinherit",
}
_STYLE = _PLAIN_STYLE | {
    "prompt": "bold",
    "completion-menu.meta.completion": "fg:ansibrightblack noinherit",
}


class Editor:
    """Reads what a person types. `on_text` gets each message, `on_interrupt` each Ctrl-C; `live`
    gives what stands above the input, for a number of rows that the input itself takes."""

    def __init__(
        self,
        history: Path,
        commands: Commands,
        live: Callable[[int], str],
        *,
        colour: bool,
        term: str,
    ) -> None:
        self.on_text: Callable[[str], None] = _ignore
        self.on_interrupt: Callable[[], None] = lambda: None
        self._live = live
        self._output = Vt100_Output(sys.stdout, _size, term=term, enable_cpr=False)
        self._buffer = Buffer(
            completer=_Slash(commands),
            complete_while_typing=Condition(self._is_command),
            history=FileHistory(_private(history)),
            multiline=True,
        )
        self._application: Application[int] = Application(
            layout=self._layout(),
            key_bindings=self._keys(),
            style=Style.from_dict(_STYLE if colour else _PLAIN_STYLE),
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            include_default_pygments_style=False,
            erase_when_done=True,
            min_redraw_interval=1 / _FRAMES,
            input=create_input(sys.stdin),
            output=self._output,
        )

    async def run(self) -> int:
        """Read until the person leaves; returns the exit code."""
        try:
            return await self._application.run_async(set_exception_handler=False)
        except EOFError:
            # The terminal itself went away.
            return 0

    def leave(self, code: int) -> None:
        """End `run`."""
        if self._application.is_running and not self._application.is_done:
            self._application.exit(result=code)

    def put(self, drawn: str) -> None:
        output, application = self._output, self._application
        if not application.is_running or application.is_done:
            output.write_raw(drawn)
            output.flush()
            return
        output.write_raw(_TOGETHER)
        application.renderer.erase()
        output.write_raw(drawn)
        # What the layout last looked like is cached by this number.
        application.render_counter += 1
        application.renderer.render(application, application.layout)
        output.write_raw(_SHOWN)
        output.flush()

    def refresh(self) -> None:
        """What stands above the input has changed."""
        self._application.invalidate()

    def size(self) -> tuple[int, int]:
        size = self._output.get_size()
        return size.columns, size.rows

    @property
    def text(self) -> str:
        """What is typed so far."""
        return self._buffer.text

    def clear(self) -> None:
        """Forget what is typed so far."""
        self._buffer.reset()

    def _is_command(self) -> bool:
        return self._buffer.text.startswith("/")

    # How it looks

    def _layout(self) -> Layout:
        search = SearchToolbar(ignore_case=True)
        control = BufferControl(
            buffer=self._buffer, search_buffer_control=search.control, preview_search=True
        )
        field = Window(
            control,
            height=lambda: Dimension(min=1, max=max(self.size()[1] // 3, 1)),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=_prefix,
        )
        above = Window(
            FormattedTextControl(lambda: ANSI(self._live(self._rows()))),
            dont_extend_height=True,
            wrap_lines=False,
        )
        rows: list[AnyContainer] = [
            ConditionalContainer(above, ~is_done),
            ConditionalContainer(field, ~is_done),
            ConditionalContainer(
                CompletionsMenu(max_height=_MENU_ROWS), has_completions & ~is_done
            ),
            search,
        ]
        return Layout(HSplit(rows, align=VerticalAlign.TOP), focused_element=field)

    def _rows(self) -> int:
        """How many rows the input and its menu take."""
        columns, rows = self.size()
        lines = self._buffer.text.split("\n")
        typed = sum(1 + (len(line) + 2) // columns for line in lines)
        state = self._buffer.complete_state
        menu = min(len(state.completions), _MENU_ROWS) if state else 0
        return min(typed, max(rows // 3, 1)) + menu

    # What keys do

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
        """Send; but a backslash at the end of the line says that more lines follow."""
        buffer = event.current_buffer
        if buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline()
            return
        text = buffer.text
        if text.strip():
            buffer.append_to_history()
        buffer.reset()
        self.on_text(text)


class _Slash(Completer):
    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        for suggestion in self._commands.suggest(document.text_before_cursor):
            yield Completion(suggestion.text, -suggestion.replaces, display_meta=suggestion.help)


def _size() -> Size:
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        columns, rows = 0, 0
    return Size(rows=rows or 24, columns=columns or 80)


def _prefix(line: int, wrapped: int) -> StyleAndTextTuples:
    return [("class:prompt", "> " if line == wrapped == 0 else "  ")]


def _private(history: Path) -> str:
    """The file of what was typed, which only its owner may read."""
    try:
        os.close(os.open(history, os.O_CREAT | os.O_WRONLY, 0o600))
        history.chmod(0o600)
    except OSError as error:
        raise StoreUnwritable(f"{history} cannot be written ({error.strerror})") from error
    return str(history)


def _ignore(_text: str) -> None:
    """Nobody reads yet."""
