"""A terminal that a program believes: what a person would see, and what they would type."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.process.harness import PATIENCE, World
from tests.process.nest import Egg, the_nest

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-_])|\r")

ENTER, INTERRUPT, END = "\r", "\x03", "\x04"


class Screen:
    """The text a program has written to its terminal, without colours and movements."""

    def __init__(self, descriptor: int, egg: Egg) -> None:
        self._descriptor = descriptor
        self._egg = egg
        self._written = b""
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    @property
    def text(self) -> str:
        return _ESCAPES.sub("", self._written.decode("utf-8", "replace"))

    def type(self, text: str) -> None:
        """As typed by a person."""
        os.write(self._descriptor, text.encode())

    async def shows(self, text: str, times: int = 1) -> None:
        """Wait until something was shown so many times."""
        try:
            async with asyncio.timeout(PATIENCE):
                while self.text.count(text) < times:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            assert self.text.count(text) >= times, self.text

    async def ended(self) -> int:
        """The program's exit code, once it has ended."""
        async with asyncio.timeout(PATIENCE):
            return await asyncio.wrap_future(self._egg.ended)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _read(self) -> None:
        with suppress(OSError):  # the program has ended
            read = os.read(self._descriptor, 65_536)
            self._written += read
            self._changed.set()
            if read:
                return
        asyncio.get_running_loop().remove_reader(self._descriptor)


@asynccontextmanager
async def conversation(world: World, *arguments: str) -> AsyncIterator[Screen]:
    """`nanobot agent` in a terminal of its own."""
    ours, theirs = pty.openpty()
    environ = world.environ(TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1", COLUMNS="100", LINES="40")
    egg = the_nest().start(
        ("agent", *arguments), environ, world.home.parent, (theirs, theirs, theirs), terminal=True
    )
    os.close(theirs)
    screen = Screen(ours, egg)
    try:
        yield screen
    finally:
        egg.signal(signal.SIGKILL)
        await asyncio.wrap_future(egg.ended)
        print(screen.text[-5_000:])
        screen.close()
