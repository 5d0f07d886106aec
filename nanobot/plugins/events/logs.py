"""Watches a log for new lines that match a pattern."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nanobot.plugins.common.threads import aside
from nanobot.plugins.events.burst import Burst, grown, over
from nanobot.plugins.events.machine import amount
from nanobot.plugins.events.plain import plain
from nanobot.plugins.events.sensor import SensorEvent, SensorUnreadable
from nanobot.plugins.events.settings import LogSettings
from nanobot.plugins.events.tail import LogCursor, new_lines

_SHOWN_LINES = 20
_SHOWN_CHARS = 400
_LOOKED_AT_CHARS = 4_096
_LINE_SECONDS, _ALL_SECONDS = 0.2, 5.0


class LogReading(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one reading: the matching lines, and the cursor after all lines."""

    cursor: LogCursor
    matching: tuple[str, ...] = ()
    passed_over: int = 0
    slow: int = 0
    there: bool = True
    size: int = 0


class LogState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The position in the log, and the unreported lines."""

    cursor: LogCursor = LogCursor()
    burst: Burst | None = None
    passed_over: int = 0
    slow: int = 0


class LogSensor:
    """One log."""

    kind = LogState

    def __init__(self, name: str, settings: LogSettings, fold_seconds: float) -> None:
        self.name = f"logs.{name}"
        self.every = settings.every_seconds
        self._fold = fold_seconds
        self._settings = settings
        self._path = Path(settings.path).expanduser()

    async def read(self, state: LogState | None) -> LogReading:
        cursor = state.cursor if state else None
        chunk = await aside(lambda: new_lines(self._path, cursor), self.name)
        lines = [plain(line.decode("utf-8", "replace")) for line in chunk.lines]
        settings = self._settings
        matching, slow = await aside(
            lambda: matches(settings.pattern, lines, ignore_case=settings.ignore_case), self.name
        )
        return LogReading(
            cursor=chunk.cursor,
            matching=tuple(line[:_SHOWN_CHARS] for line in matching),
            passed_over=chunk.passed_over,
            slow=slow,
            there=chunk.there,
            size=chunk.size,
        )

    def judge(
        self, reading: LogReading, state: LogState | None, now: float
    ) -> tuple[SensorEvent | None, LogState]:
        """A sentence for the finished burst of lines."""
        before = state or LogState()
        burst = before.burst
        if reading.matching:
            first = burst.total if burst else 0
            kept = reading.matching[:_SHOWN_LINES]
            lines = {str(first + number): line for number, line in enumerate(kept)}
            burst = grown(burst, lines, len(reading.matching), now)
        elif reading.passed_over or reading.slow:
            burst = burst or Burst(now, {}, 0)
        passed_over = before.passed_over + reading.passed_over
        slow = before.slow + reading.slow
        if burst is None or not over(burst, self._fold, now):
            return None, LogState(reading.cursor, burst, passed_over, slow)
        outside = list(burst.things.values())[:_SHOWN_LINES]
        if burst.total > len(outside) > 0:
            outside.append(f"and {burst.total - len(outside):,} more")
        text = self._notes(burst.total, passed_over, slow)
        return SensorEvent(at=now, text=text, outside=tuple(outside)), LogState(reading.cursor)

    def _notes(self, total: int, passed_over: int, slow: int) -> str:
        text = (
            f"{total:,} new line{'s' * (total != 1)} in {self._settings.path} "
            f"match{'es' * (total == 1)} {self._settings.pattern!r}."
        )
        if passed_over:
            text += f" It grew so fast that {amount(passed_over)} were passed over unread."
        if slow:
            text += (
                f" {slow:,} line{'s' * (slow != 1)} could not be looked at: the pattern takes too "
                "long there."
            )
        return text

    def seen(self, reading: LogReading) -> str:
        if not reading.there:
            return f"{self._settings.path} is not there"
        return f"{self._settings.path}, {amount(reading.size)}"

    async def close(self) -> None:
        """No resources to release."""


def matches(
    pattern: str, lines: Sequence[str], *, ignore_case: bool = False
) -> tuple[list[str], int]:
    """The lines that match the pattern, and how many lines were skipped because the pattern takes
    too long. Raises SensorUnreadable. Blocks only its own thread.
    """
    import regex  # type: ignore[import-untyped]  # noqa: PLC0415 - 40 ms, and only for logs

    try:
        compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise SensorUnreadable(f"the pattern {pattern!r} cannot be used: {error}") from None
    matching: list[str] = []
    slow, until = 0, time.monotonic() + _ALL_SECONDS
    for number, line in enumerate(lines):
        left = min(until - time.monotonic(), _LINE_SECONDS)
        if left <= 0:
            return matching, slow + len(lines) - number
        try:
            if compiled.search(line[:_LOOKED_AT_CHARS], timeout=left, concurrent=True):
                matching.append(line)
        except TimeoutError:
            slow += 1
    return matching, slow
