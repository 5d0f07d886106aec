"""Where a gateway is measured: the world around it, and the gateway as a process among others.

async with open_stage(folder, effort) as stage:
    async with stage.gateway(NANOBOT) as gateway:
        talk = await stage.converse(chats=[1], each=10)
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import psutil

from benchmarks.people import LINE_LIMIT

ROOT = Path(__file__).resolve().parent.parent
PLAIN = "say:{word}"
SETTLE = 0.15
"""Seconds after the last answer until its receipt is written and counters may be read."""
PATIENCE = 240.0
TICKS = 0.05
"""Seconds by which clock ticks may be wrong."""
START_SECONDS = 60.0
_STOP_SECONDS = 15.0


class Subject(StrEnum):
    """Who is measured: nanobot, an earlier version of it (see builds), or the floor (see
    null_gateway)."""

    NANOBOT = "nanobot"
    EARLIER = "earlier"
    FLOOR = "floor"


class BenchmarkError(Exception):
    """A measurement that would say nothing: a wrong answer, a process that ended."""


@dataclass(frozen=True)
class Effort:
    """How much is done for one figure."""

    turns: int = 100
    tool_turns: int = 15
    rounds: int = 10
    newcomers: int = 50
    model_seconds: float = 2.0
    crowd: int = 200
    crowd_says: int = 5
    idle_seconds: float = 30.0
    """At least as long as a poll is held, so that one of its ends is among them."""
    grown_turns: int = 200
    backlog: int = 10_000
    history: tuple[int, ...] = (10, 200, 1_000, 3_000)
    window: int = 50
    traced: int = 10
    commands: int = 7
    stored: int = 300
    jobs: int = 10_000
    requests: int = 2_000
    filled: tuple[int, int, int, int] = (100_000, 10_000, 10_000, 10_000)
    """Messages, chats, jobs and memories of a store that is years old."""


QUICK = Effort(
    turns=5,
    tool_turns=2,
    newcomers=5,
    model_seconds=0.2,
    crowd=10,
    crowd_says=2,
    idle_seconds=1.0,
    grown_turns=10,
    backlog=100,
    history=(10, 40),
    window=10,
    traced=3,
    commands=2,
    stored=10,
    jobs=100,
    requests=50,
    filled=(1_000, 100, 100, 100),
)


@dataclass(frozen=True)
class Talk:
    """What came of a conversation; see people.People.converse."""

    spans: Sequence[tuple[float, float]]
    calls: Mapping[str, int]
    prompts: Sequence[int]
    doubles_cpu: float

    @property
    def turns(self) -> int:
        return len(self.spans)

    @property
    def milliseconds(self) -> list[float]:
        """From there to be polled to arrived, each."""
        return [(arrived - said) * 1e3 for said, arrived in self.spans]

    @property
    def seconds(self) -> float:
        """From the first message to the last answer."""
        return max(end for _, end in self.spans) - min(begin for begin, _ in self.spans)

    def percentile(self, share: float) -> float:
        """The time that this share of the turns did not exceed, in ms."""
        ordered = sorted(self.milliseconds)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)


@dataclass(frozen=True)
class Cpu:
    """CPU seconds, twice: in ticks of the clock (complete, coarse), and those of the threads there
    are (exact, but what ended is gone)."""

    ticked: float
    exact: float

    def since(self, before: Cpu) -> float:
        """CPU milliseconds from then to now: the exact ones, if nothing is gone from them."""
        ticked, exact = self.ticked - before.ticked, self.exact - before.exact
        return 1e3 * (exact if abs(ticked - exact) < TICKS else ticked)


class Gateway:
    """A running gateway, with all of its processes, as the operating system sees it."""

    def __init__(self, process: asyncio.subprocess.Process, began: float, log: Path) -> None:
        self.began = began
        self.pid = process.pid
        self._process = process
        self._log = log

    def cpu(self) -> Cpu:
        """CPU time so far."""
        ticked, exact = 0.0, 0.0
        for process in self._tree():
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                ticked += times.user + times.system + times.children_user + times.children_system
                exact += _scheduled(process.pid)
        return Cpu(ticked, exact)

    def resident(self) -> float:
        """Resident memory, in MB (of 1,000,000 bytes)."""
        found = 0
        for process in self._tree():
            with suppress(psutil.NoSuchProcess):
                found += int(process.memory_info().rss)
        return found / 1e6

    def written(self) -> int | None:
        """Bytes sent to the disk so far; None where the system does not tell."""
        try:
            return sum(_write_bytes(process.pid) for process in self._tree())
        except OSError:
            return None

    def _tree(self) -> list[psutil.Process]:
        try:
            first = psutil.Process(self.pid)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            raise BenchmarkError(f"the gateway ended: {self.last_words()}") from None

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    def last_words(self) -> str:
        """The end of its log."""
        return self._log.read_text("utf-8", "replace")[-1_500:]

    async def stop(self) -> None:
        """SIGTERM, some time, then SIGKILL for whatever is left of its group."""
        if self._process.returncode is None:
            self._process.terminate()
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_SECONDS):
                    await self._process.wait()
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self._process.wait()


def _scheduled(pid: int) -> float:
    """CPU seconds of the threads there are; nothing where the system does not tell."""
    nanoseconds = 0
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            nanoseconds += int((thread / "schedstat").read_text().split()[0])
    return nanoseconds / 1e9


def _write_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))


@dataclass
class Stage:
    """A folder, the world, and what scenarios do with them."""

    folder: Path
    effort: Effort
    world: asyncio.subprocess.Process
    places: Mapping[str, str] = field(default_factory=dict)
    notes: dict[str, object] = field(default_factory=dict)
    pythons: Mapping[Subject, Path] = field(default_factory=dict)
    """The Python that runs a version, where it is another than the one that measures."""
    script: Sequence[str] = ()
    """A script and its arguments, which run the gateway."""
    busy: bool = False
    """The bot may answer other chats in every conversation: jobs are due, too."""
    _homes: int = 0
    _orders: int = 0

    async def order(self, do: str, *, limit: float = PATIENCE, **arguments: Any) -> Any:
        """Have the world do something; raises BenchmarkError with what went wrong there."""
        assert self.world.stdin is not None
        assert self.world.stdout is not None
        self._orders += 1
        order = {"do": do, "limit": limit, "number": self._orders, **arguments}
        self.world.stdin.write(f"{json.dumps(order)}\n".encode())
        async with asyncio.timeout(limit + 5):
            # An order that was given up on is still answered; that answer is passed over.
            answer: dict[str, Any] = {}
            while answer.get("number") != self._orders:
                line = await self.world.stdout.readline()
                if not line:
                    raise BenchmarkError("the doubles ended")
                answer = json.loads(line)
        if "error" in answer:
            raise BenchmarkError(answer["error"])
        return answer["ok"]

    async def converse(
        self,
        chats: Sequence[int],
        each: int,
        text: str = PLAIN,
        pause: float = 0.0,
        *,
        others: bool = False,
    ) -> Talk:
        """Let people talk with the bot; see people.People.converse."""
        told = await self.order(
            "converse",
            chats=list(chats),
            each=each,
            text=text,
            pause=pause,
            others=others or self.busy,
        )
        await asyncio.sleep(SETTLE)
        return Talk(told["spans"], told["calls"], told["prompts"], told["cpu"])

    def home(self) -> Path:
        """A new home, for either subject."""
        self._homes += 1
        home = self.folder / f"home-{self._homes}"
        (home / "workspace").mkdir(parents=True)
        for number in range(self.effort.rounds):
            notes = home / "workspace" / f"notes-{number}.txt"
            notes.write_text(f"{number}: a line of notes.\n" * 20, "utf-8")
        (home / "config.toml").write_text(
            f"""\
[agent]
model = "bench/scripted"
[providers.bench]
api_base = "{self.places["model"]}"
[channels.telegram]
token = "{self.places["token"]}"
api_root = "{self.places["root"]}"
members = ["*"]
[budgets]
tokens_per_day = 1_000_000_000
""",
            "utf-8",
        )
        return home

    @asynccontextmanager
    async def starting(
        self, subject: Subject, home: Path | None = None, latency: float = 0.0
    ) -> AsyncIterator[Gateway]:
        """A gateway whose process has just been started."""
        home = home or self.home()
        await self.order("reset", latency=latency)
        log = home / "log"
        began = time.monotonic()
        process = await self._spawn(self._command(subject, home), home, log)
        gateway = Gateway(process, began, log)
        try:
            yield gateway
        finally:
            await gateway.stop()

    @asynccontextmanager
    async def gateway(
        self, subject: Subject, home: Path | None = None, latency: float = 0.0
    ) -> AsyncIterator[Gateway]:
        """A gateway that polls."""
        async with self.starting(subject, home, latency) as gateway:
            await self.first_poll(gateway)
            yield gateway

    async def first_poll(self, gateway: Gateway) -> float:
        """Seconds from the start of the process to its first poll; waits for it."""
        while (polled := await self.order("first_poll", wait=0.5)) is None:
            late = time.monotonic() > gateway.began + START_SECONDS
            if late or gateway.ended:
                why = "did not poll" if late else "ended"
                raise BenchmarkError(f"the gateway {why}: {gateway.last_words()}")
        return float(polled) - gateway.began

    def _command(self, subject: Subject, home: Path) -> list[str]:
        if subject is not Subject.FLOOR:
            python = str(self.pythons.get(subject, sys.executable))
            if self.script:
                return [python, *self.script]
            return [python, "-c", "from nanobot.cli import main; main()", "gateway"]
        bot = f"{self.places['root']}/bot{self.places['token']}"
        script = str(ROOT / "benchmarks" / "null_gateway.py")
        return [sys.executable, script, bot, self.places["model"], str(home / "workspace")]

    @staticmethod
    async def _spawn(command: list[str], home: Path, log: Path) -> asyncio.subprocess.Process:
        with log.open("ab") as output:
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(home),
                cwd=home,
                start_new_session=True,
            )


def environment(home: Path) -> dict[str, str]:
    """What a measured process is started with; nothing else of ours."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"NANOBOT_HOME": str(home), "TZ": "UTC"}


@asynccontextmanager
async def open_stage(
    folder: Path, effort: Effort, say: Callable[[str], None]
) -> AsyncIterator[Stage]:
    """The world in its process; the folder, which is used up, is removed at the end."""
    world = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.people",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        limit=LINE_LIMIT,
        start_new_session=True,
    )
    stage = Stage(folder, effort, world)
    try:
        stage.places = await stage.order("where", limit=30)
        say(f"doubles: process {world.pid}; files: {folder}")
        yield stage
    finally:
        if world.returncode is None:
            world.kill()
        await world.wait()
        shutil.rmtree(folder, ignore_errors=True)
