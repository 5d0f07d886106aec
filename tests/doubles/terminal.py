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
import signal
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pyte

from tests.process.nest import Egg, the_nest

PATIENCE = 45.0
ENTER, ALT_ENTER, UP, TAB = "\r", "\x1b\r", "\x1b[A", "\t"
CTRL_C, CTRL_D, CTRL_R = "\x03", "\x04", "\x12"
_SCROLLBACK = 10_000


class _Cells(pyte.HistoryScreen):
    """What pyte does not know, faint, is kept as what nothing here does: blinking."""

    def select_graphic_rendition(self, *attrs: int) -> None:
        plain = not {38, 48} & set(attrs)
        super().select_graphic_rendition(*(5 if a == 2 and plain else a for a in attrs))


class Screen:
    """What stands on a terminal's screen and in its scrollback, as text; `raw` is what it was sent.

    `cells` is the screen as pyte has it.
    """

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.raw = ""
        self.cells = _Cells(columns, rows, history=_SCROLLBACK)
        self._stream = pyte.Stream(self.cells)

    @property
    def lines(self) -> list[str]:
        """Scrollback and screen, without the empty end."""
        rows = [*self.cells.history.top, *(self.cells.buffer[y] for y in range(self.cells.lines))]
        lines = ["".join(row[x].data for x in range(self.cells.columns)).rstrip() for row in rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def feed(self, text: str) -> None:
        self.raw += text
        self._stream.feed(text)


class Terminal:
    """A program in a terminal."""

    def __init__(self, egg: Egg, master: int, screen: Screen) -> None:
        self.screen = screen
        self._egg = egg
        self._master = master
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._changed = asyncio.Event()

    def type(self, text: str, encoding: str = "utf-8") -> None:
        """Press keys."""
        os.write(self._master, text.encode(encoding))

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
            code = await self._egg.end()
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
        await self._egg.end()


@asynccontextmanager
async def in_terminal(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    folder: Path,
    *,
    columns: int = 80,
    rows: int = 24,
) -> AsyncIterator[Terminal]:
    """Run nanobot in a terminal of that size; it is killed at the end, if it lives on."""
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (rows, columns))
    os.set_blocking(master, False)
    environ = {"TERM": "xterm-256color", **environ}
    egg = the_nest().start(arguments, environ, folder, (slave, slave, slave), terminal=True)
    os.close(slave)
    terminal = Terminal(egg, master, Screen(columns, rows))
    loop = asyncio.get_running_loop()
    loop.add_reader(master, terminal.read)
    try:
        yield terminal
    finally:
        loop.remove_reader(master)
        await terminal.kill()
        os.close(master)
