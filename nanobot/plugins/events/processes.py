"""Watches programs that should run: their end, restart and return."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec

from nanobot.plugins.common.threads import aside
from nanobot.plugins.events.sensor import SensorEvent, SensorUnreadable
from nanobot.plugins.events.settings import ProcessSettings

_SAME_SECONDS = 2.0
"""Two readings of a process's start time may differ by this much."""


class LiveProcess(msgspec.Struct, frozen=True, order=True):
    """A process, identified by its number and its start time together."""

    pid: int
    began: float


class KnownProcesses(msgspec.Struct, frozen=True, omit_defaults=True):
    """The known processes of a program, and since when none has been running."""

    alive: tuple[LiveProcess, ...] = ()
    gone_at: float | None = None


class ProcessSensor:
    """One program, identified by the name of its processes or by its PID file."""

    kind = KnownProcesses

    def __init__(self, name: str, settings: ProcessSettings) -> None:
        self.name = f"processes.{name}"
        self.every = settings.every_seconds
        self._called = settings.process or name
        self._pid_file = Path(settings.pid_file).expanduser() if settings.pid_file else None
        self._program = f'The program "{self._called}"'
        if self._pid_file is not None:
            self._program += f" (of {self._pid_file})"

    async def read(self, state: KnownProcesses | None) -> tuple[LiveProcess, ...]:
        """The processes running now. The known ones are checked first; all processes of the machine
        are searched only if no known one is left.
        """
        before = state.alive if state else ()
        return await aside(lambda: self._look(before), self.name)

    def _look(self, before: Collection[LiveProcess]) -> tuple[LiveProcess, ...]:
        if self._pid_file is not None:
            return self._from_file(self._pid_file)
        left = tuple(live for live in before if process(live.pid, self._called))
        return left or named(self._called)

    @staticmethod
    def _from_file(file: Path) -> tuple[LiveProcess, ...]:
        try:
            text = file.read_bytes()[:100].split()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise SensorUnreadable(f"{file} cannot be read: {error.strerror}") from None
        if not text:
            return ()  # the file is being written
        if not text[0].isdigit() or not 0 < int(text[0]) < 1 << 31:
            raise SensorUnreadable(f"{file} does not hold the number of a process")
        candidate = process(int(text[0]))
        return (candidate,) if candidate else ()

    def judge(
        self, reading: tuple[LiveProcess, ...], state: KnownProcesses | None, now: float
    ) -> tuple[SensorEvent | None, KnownProcesses]:
        """Reports the program's end once; its restart if all running processes are new; and its
        return.
        """
        before = state or KnownProcesses()
        text = ""
        if reading and before.alive and not self._common(reading, before.alive):
            text = f"{self._program} was restarted: {_ids(before.alive)} became {_ids(reading)}."
        elif reading and before.gone_at is not None:
            away = span(now - before.gone_at)
            text = f"{self._program} runs again ({_ids(reading)}), after {away}."
        elif not reading and before.alive:
            ran = span(now - min(live.began for live in before.alive))
            text = f"{self._program} has ended ({_ids(before.alive)}); it had run for {ran}."
        gone_at = None
        if not reading:
            gone_at = now if before.alive else before.gone_at
        # A restarted nanobot needs to know only the processes that were running, not every worker.
        return (SensorEvent(at=now, text=text) if text else None), KnownProcesses(reading, gone_at)

    def _common(self, some: Collection[LiveProcess], others: Collection[LiveProcess]) -> bool:
        if self._pid_file is not None:
            return any(same(live, other) for live in some for other in others)
        # They have the same name as well. Their start times shift when the clock is set.
        return bool({live.pid for live in some} & {live.pid for live in others})

    def seen(self, reading: tuple[LiveProcess, ...]) -> str:
        return f"runs ({_ids(reading)})" if reading else "does not run"

    async def close(self) -> None:
        """No resources to release."""


def process(pid: int, called: str = "") -> LiveProcess | None:
    """The process with that number (if it has the name `called`), unless it is a zombie."""
    import psutil  # noqa: PLC0415 - of an extra

    try:
        candidate = psutil.Process(pid)
        if candidate.status() == psutil.STATUS_ZOMBIE:
            return None
        if called and candidate.name() != called:
            return None
        return LiveProcess(pid, candidate.create_time())
    except psutil.AccessDenied:
        return LiveProcess(pid, 0.0)
    except psutil.Error:
        return None


def named(name: str) -> tuple[LiveProcess, ...]:
    """The processes with that name."""
    import psutil  # noqa: PLC0415

    alive = [
        LiveProcess(live.pid, live.info["create_time"] or 0.0)
        for live in psutil.process_iter(["name", "status", "create_time"])
        if live.info["name"] == name and live.info["status"] != psutil.STATUS_ZOMBIE
    ]
    return tuple(sorted(alive))


def same(live: LiveProcess, other: LiveProcess) -> bool:
    """Whether both are the same process."""
    return live.pid == other.pid and abs(live.began - other.began) <= _SAME_SECONDS


def _ids(processes: Collection[LiveProcess]) -> str:
    numbers = [str(live.pid) for live in sorted(processes)]
    more = len(numbers) - 5
    word = "process" if len(numbers) == 1 else "processes"
    return f"{word} {', '.join(numbers[:5])}" + (f" and {more} more" if more > 0 else "")


def span(seconds: float) -> str:
    """A duration in readable form."""
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} seconds"
