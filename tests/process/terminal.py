"""A terminal that a program believes: what a person would see, and what they would type."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.process.harness import COMMAND, PATIENCE, World

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-_])|\r")

ENTER, INTERRUPT, END = "\r", "\x03", "\x04"


class Screen:
    """The text a program has written to its terminal, without colours and movements."""

    def __init__(self, descriptor: int, process: asyncio.subprocess.Process) -> None:
        self._descriptor = descriptor
        self._process = process
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
            return await self._process.wait()

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
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *("agent", *arguments),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environ,
        cwd=world.home.parent,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    screen = Screen(ours, process)
    try:
        yield screen
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        print(screen.text[-5_000:])
        screen.close()
