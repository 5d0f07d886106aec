"""What somebody waits for who types `nanobot`: the prompt, the first word, the commands."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import BenchmarkError, Stage, Subject, environment
from tests.doubles.terminal import Screen

_MAIN = "from nanobot.cli import main; main()"
_PATIENCE = 60.0
_MODEL_DELTA = b'"model_delta"'
_QUESTION = "Name three fruits."
_REFUSED = """\
[agent]
model = "bench/scripted"
[providers.bench]
api_base = "http://127.0.0.1:9/v1"
"""


async def terminal(stage: Stage, subject: Subject) -> Sample:
    """Waiting times in a terminal: to the prompt of `nanobot agent`, with a fresh home and a used
    one; from Enter to the first word; one message from the shell (answered, by the embedded model,
    and failing); `nanobot --help` and `nanobot status`. The floor is Python doing nothing."""
    if subject is Subject.FLOOR:
        return {"--help": await _ended(stage.home(), ["-c", "pass"])}
    home = stage.home()
    sample: dict[str, float] = {}
    for key in ("fresh prompt", "prompt"):
        async with _in_terminal(home) as shown:
            sample[key] = await shown.until(lambda lines: lines[-1:] == [">"])
            word = f"zebra{len(sample)}"
            shown.type(f"say:{word}\r")
            sample["word"] = await shown.until(partial(_stands, word))
    sample["message"] = await _ended(home, ["-c", _MAIN, "agent", "-m", "say:hello"])
    for option in ("--help", "status"):
        sample[option] = await _ended(home, ["-c", _MAIN, option])
    refusing = stage.home()
    (refusing / "config.toml").write_text(_REFUSED, "utf-8")
    sample["refused"] = await _ended(refusing, ["-c", _MAIN, "agent", "-m", "hello"], code=5)
    return {**sample, **await _embedded(stage.home())}


def _stands(word: str, lines: Sequence[str]) -> bool:
    """Whether an answer begins with the word."""
    return any(line.strip() == word for line in lines)


class _Shown:
    """A terminal of 80 by 24 and what stands in it; times are from the last thing that was done."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._screen = Screen()
        self._began = time.monotonic()
        self._changed = asyncio.Event()

    def read(self) -> None:
        try:
            self._screen.feed(os.read(self._master, 65_536).decode("utf-8", "replace"))
        except OSError:  # the other side is closed
            asyncio.get_running_loop().remove_reader(self._master)
        self._changed.set()

    def type(self, text: str) -> None:
        self._began = time.monotonic()
        os.write(self._master, text.encode())

    async def until(self, holds: Callable[[list[str]], bool]) -> float:
        """Seconds until it holds of the lines that are shown."""
        try:
            async with asyncio.timeout(_PATIENCE):
                while not holds(self._screen.lines):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise BenchmarkError(f"never shown; the screen:\n{self._screen.text}") from None
        return time.monotonic() - self._began


@asynccontextmanager
async def _in_terminal(home: Path) -> AsyncIterator[_Shown]:
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    os.set_blocking(master, False)
    shown, loop = _Shown(master), asyncio.get_running_loop()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _MAIN, "agent"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment(home) | {"TERM": "xterm-256color"},
        cwd=home,
        start_new_session=True,
    )
    os.close(slave)
    loop.add_reader(master, shown.read)
    try:
        yield shown
    finally:
        loop.remove_reader(master)
        process.kill()
        await process.wait()
        os.close(master)


async def _ended(home: Path, arguments: Sequence[str], code: int = 0) -> float:
    """Seconds from the start of a Python to its end. Raises BenchmarkError if it ends otherwise."""
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment(home),
        cwd=home,
    )
    _, told = await process.communicate()
    seconds = time.monotonic() - began
    if process.returncode != code:
        raise BenchmarkError(f"{arguments} ended with {process.returncode}: {told[-500:]!r}")
    return seconds


async def _embedded(home: Path) -> Sample:
    """The first word of the model that comes with nanobot; nothing where it is not installed."""
    (home / "config.toml").write_text('[agent]\nmodel = "embedded"\n', "utf-8")
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _MAIN, "agent", "--json", "-m", _QUESTION),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment(home),
        cwd=home,
    )
    assert process.stdout is not None
    try:
        async for line in process.stdout:
            if _MODEL_DELTA in line:
                return {"embedded word": time.monotonic() - began}
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
    return {}


TERMINAL = Scenario(
    "terminal",
    (
        Measure("fresh prompt", "`nanobot agent` to its prompt, fresh home", "s"),
        Measure("prompt", "`nanobot agent` to its prompt", "s"),
        Measure("word", "Enter to the first word", "s"),
        Measure("embedded word", "`nanobot agent -m` to the first word, embedded model", "s"),
        Measure("message", "`nanobot agent -m`, answered", "s"),
        Measure("refused", "`nanobot agent -m`, nothing listens at the model's port", "s"),
        Measure("--help", "`nanobot --help`", "s"),
        Measure("status", "`nanobot status`", "s"),
    ),
    terminal,
)
