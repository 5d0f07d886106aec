"""The processes that parse pages and documents, as forks of the nest: a start of one takes 0.4 s of
a processor, nine tenths of it for imports and for word lists that short pages need.

Whatever a gateway of the nest starts for that is a stand-in of a few lines. It hands its streams
and its job to the nest, and ends as the fork does. If it is killed, so is the fork.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nanobot.plugins.common.files import document_worker as worker
from nanobot.plugins.common.files.parse_job import ParseJob

_MESSAGE = 65_536
_AS_STARTED = ("-P", "-m", worker.__name__)
_STAND_IN = """
import array, os, sys, _socket
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
line.connect(chr(0) + sys.argv[1])
streams = array.array("i", [0, 1, 2])
line.sendmsg([sys.argv[2].encode()], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
code = int(line.recv(64) or -9)
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""


class HatchedReaders:
    """The nest's side: a fork for each stand-in that asks for one."""

    def __init__(self) -> None:
        self._name = f"nanobot-nest-{os.getpid()}"
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._door.bind(f"\0{self._name}")
        self._door.listen(64)
        self._lines: dict[socket.socket, int] = {}

    @property
    def watched(self) -> list[socket.socket]:
        """What to wait for."""
        return [self._door, *self._lines]

    @property
    def alive(self) -> list[int]:
        """The forks."""
        return list(self._lines.values())

    def heard(self, ready: socket.socket) -> Callable[[], None] | None:
        """Somebody asks, or a stand-in has ended. In the fork: what it has to do."""
        if ready is not self._door:
            with suppress(ProcessLookupError):
                os.kill(self._lines.pop(ready), signal.SIGKILL)
            ready.close()
            return None
        line, _ = self._door.accept()
        job, streams, _, _ = socket.recv_fds(line, _MESSAGE, 3)
        pid = os.fork() if job else 0
        if job and pid == 0:
            self.close()
            line.close()
            return lambda: _read(job.decode(), streams)
        for stream in streams:
            os.close(stream)
        if job:
            self._lines[line] = pid
        else:
            line.close()
        return None

    def ended(self, pid: int, code: int) -> None:
        """If it is one of them, tell its stand-in."""
        for line in [each for each, reader in self._lines.items() if reader == pid]:
            del self._lines[line]
            with suppress(BrokenPipeError):
                line.send(str(code).encode())
            line.close()

    def close(self) -> None:
        """In a fork: they are the nest's."""
        for each in self.watched:
            each.close()

    def stand_in(self) -> None:
        """In the fork that becomes a gateway: what it starts to parse something is a stand-in."""
        starting: Any = asyncio.create_subprocess_exec
        asked = ("-I", "-S", "-c", _STAND_IN, self._name)

        async def start(program: str, *words: str, **options: Any) -> asyncio.subprocess.Process:
            words = (*asked, *words[3:]) if words[:3] == _AS_STARTED else words
            process: asyncio.subprocess.Process = await starting(program, *words, **options)
            return process

        asyncio.create_subprocess_exec = start  # type: ignore[assignment]


def prepare() -> None:
    """Read a page, so that what this needs is loaded."""
    reading = "nanobot.plugins.web_tools.readable"
    importlib.import_module(reading)
    worker.read(ParseJob(read=f"{reading}:read"), io.BytesIO(b"<p>short"))


def _read(job: str, streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    sys.argv = ["", job]
    worker.main()
