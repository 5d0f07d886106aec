"""A terminal of 80 by 24, and nanobot that runs in it: what a person would see, scrolled or not.

async with in_terminal(["agent"], environ, folder) as terminal:
    terminal.type("hello\\r")
    await terminal.shows("> hello")
"""

from __future__ import annotations

import asyncio
import codecs
import errno
import os
import re
import signal
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from rich.cells import get_character_cell_size

from tests.process.nest import Egg, the_nest

PATIENCE = 30.0
ENTER, ALT_ENTER, UP, TAB = "\r", "\x1b\r", "\x1b[A", "\t"
CTRL_C, CTRL_D, CTRL_R = "\x03", "\x04", "\x12"
_TOKEN = re.compile(
    r"\x1b\[(?P<args>[0-9;?:]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b\].*?(?:\x07|\x1b\\)|\x1b[ -~]|(?s:.)"
)


class Screen:
    """What stands on a terminal's screen and in its scrollback, as text.

    It knows the control sequences that programs of ours use, and fails at any other.
    """

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns = columns
        self.rows = rows
        self.raw = ""
        self._gone: list[str] = []
        self._cells = [[" "] * columns for _ in range(rows)]
        self._x = self._y = 0
        self._unfinished = ""

    @property
    def lines(self) -> list[str]:
        """Scrollback and screen, without the empty end."""
        rows = ["".join(row).rstrip() for row in self._cells]
        lines = [*self._gone, *rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def feed(self, text: str) -> None:
        self.raw += text
        text = self._unfinished + text
        # A sequence that has only half arrived waits for its other half.
        cut = text.rfind("\x1b")
        whole = cut < 0 or re.match(r"\x1b(?:\[[0-9;?: -/]*[@-~]|[^\[])", text[cut:])
        self._unfinished = "" if whole else text[cut:]
        for token in _TOKEN.finditer(text if whole else text[:cut]):
            if token["final"]:
                self._control(token["final"], token["args"])
            elif not token[0].startswith("\x1b"):
                self._put(token[0])

    def _put(self, char: str) -> None:
        if char == "\r":
            self._x = 0
        elif char == "\n":
            self._down()
        elif char == "\b":
            self._x = max(self._x - 1, 0)
        elif char >= " ":
            width = get_character_cell_size(char)
            if width == 0:
                self._cells[self._y][max(self._x - 1, 0)] += char
                return
            if self._x + width > self.columns:
                self._x = 0
                self._down()
            self._cells[self._y][self._x : self._x + width] = [char] + [""] * (width - 1)
            self._x += width

    def _down(self) -> None:
        if self._y < self.rows - 1:
            self._y += 1
            return
        self._gone.append("".join(self._cells.pop(0)).rstrip())
        self._cells.append([" "] * self.columns)

    def _control(self, final: str, args: str) -> None:
        count = int(args.split(";")[0]) if args.split(";")[0].isdecimal() else 0
        match final:
            case "A":
                self._y = max(self._y - (count or 1), 0)
            case "B":
                self._y = min(self._y + (count or 1), self.rows - 1)
            case "C":
                self._x = min(self._x + (count or 1), self.columns - 1)
            case "D":
                self._x = max(self._x - (count or 1), 0)
            case "K":
                assert count == 0, "only to the end of the line"
                self._blank(self._y, self._x)
            case "J":
                assert count == 0, "only to the end of the screen"
                self._blank(self._y, self._x)
                for row in range(self._y + 1, self.rows):
                    self._blank(row, 0)
            case "m" | "h" | "l" | "q":
                pass
            case _:
                raise AssertionError(f"unknown control sequence ESC [ {args} {final}")

    def _blank(self, row: int, start: int) -> None:
        self._cells[row][start:] = [" "] * (self.columns - start)


class Terminal:
    """A program in a terminal."""

    def __init__(self, egg: Egg, master: int, screen: Screen) -> None:
        self.screen = screen
        self._egg = egg
        self._master = master
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._changed = asyncio.Event()

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    async def shows(self, text: str) -> None:
        """Wait until the text stands somewhere, scrolled away or not."""
        await self.until(lambda: text in self.screen.text)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of what is shown."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"never shown; the screen:\n{self.screen.text}") from None

    async def ended(self) -> int:
        """The exit code, once the program has ended by itself."""
        async with asyncio.timeout(PATIENCE):
            code = await asyncio.wrap_future(self._egg.ended)
        self.read()
        return code

    def read(self) -> None:
        """Take what has come."""
        with suppress(BlockingIOError):
            try:
                while data := os.read(self._master, 65_536):
                    self.screen.feed(self._decoder.decode(data))
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                # The program has closed its side.
                asyncio.get_running_loop().remove_reader(self._master)
        self._changed.set()

    async def kill(self) -> None:
        self._egg.signal(signal.SIGKILL)
        await asyncio.wrap_future(self._egg.ended)


@asynccontextmanager
async def in_terminal(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    folder: Path,
    *,
    columns: int = 80,
    rows: int = 24,
    screen: Screen | None = None,
) -> AsyncIterator[Terminal]:
    """Run nanobot in a terminal of that size; it is killed at the end, if it lives on."""
    screen = screen or Screen(columns, rows)
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (rows, columns))
    os.set_blocking(master, False)
    environ = {"TERM": "xterm-256color", **environ}
    egg = the_nest().start(arguments, environ, folder, (slave, slave, slave), terminal=True)
    os.close(slave)
    terminal = Terminal(egg, master, screen)
    loop = asyncio.get_running_loop()
    loop.add_reader(master, terminal.read)
    try:
        yield terminal
    finally:
        loop.remove_reader(master)
        await terminal.kill()
        os.close(master)
