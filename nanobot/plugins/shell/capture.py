"""Captures the output of a running process, and says how private it is."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections import deque
from contextlib import suppress

from nanobot.labels import Label, Privacy, of
from nanobot.plugins.common.policy.secret_files import secret_file_in, shows_secrets
from nanobot.plugins.common.processes import DYING_SECONDS, kill
from nanobot.session.labelling import of_result

_CHUNK = 65_536


class Capture:
    """The first and the last bytes of an output, whatever its length."""

    def __init__(self, process: Process, keep: int, most: int) -> None:
        self._process = process
        self._keep = keep
        self._most = most
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._total = 0
        self.flooded = False

    @property
    def total(self) -> int:
        """Bytes received so far."""
        return self._total

    @property
    def dropped(self) -> int:
        """Bytes in the middle that were not kept."""
        return self._total - len(self._head) - min(self._tail_size, self._keep)

    def text(self) -> str:
        tail = b"".join(self._tail)[-self._keep :]
        return (bytes(self._head) + tail).decode("utf-8", "replace")

    async def until_end(self) -> None:
        """Read until no process can write any more, or until the output is a flood, in which case
        the process is killed.
        """
        stream = self._process.stdout
        if stream is None:
            raise AssertionError("the process was started without a pipe")
        while chunk := await stream.read(_CHUNK):
            self._total += len(chunk)
            self._take(chunk)
            if self._total > self._most and not self.flooded:
                self.flooded = True
                kill(self._process)

    async def kill(self) -> None:
        """Kill it, and read until no process is left that could write, here or into a file. (Not
        forever: a process stuck in the kernel does not die.)
        """
        kill(self._process)
        with suppress(TimeoutError):
            async with asyncio.timeout(DYING_SECONDS):
                await self.until_end()
                await self._process.wait()

    def _take(self, chunk: bytes) -> None:
        room = self._keep - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail.append(chunk)
        self._tail_size += len(chunk)
        while self._tail_size - len(self._tail[0]) >= self._keep:
            self._tail_size -= len(self._tail.popleft())


def label_of(output: str, command: str, *, redacted: bool) -> Label:
    """The label of a command's output that may be from outside. It is secret under the same
    conditions as the result of a call (nanobot.tools.running); `redacted`: a secret was removed.
    """
    label = of_result("exec", tainted=True)
    secret = redacted or shows_secrets(output) or secret_file_in({"command": command})
    return label.join(of(privacy=Privacy.SECRET)) if secret else label
