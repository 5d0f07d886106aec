"""Levels: how full something is, and the two moments that are reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec

from nanobot.plugins.common.threads import aside
from nanobot.plugins.events.sensor import SensorEvent

Crossing: TypeAlias = Literal["rose", "fell"]


class LevelLimits(msgspec.Struct, frozen=True, kw_only=True):
    """An episode begins when a level was at or above `over` for the given seconds, and ends when it
    is at or below `under`. In percent.
    """

    over: float
    under: float
    for_seconds: float


class Level(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether an episode is in progress, and since when a new one is pending."""

    high: bool = False
    since: float | None = None


class Measure(msgspec.Struct, frozen=True):
    """A level in percent, and the same in absolute numbers."""

    percent: float
    detail: str


def crossed(
    percent: float, level: Level, limits: LevelLimits, now: float
) -> tuple[Crossing | None, Level]:
    """The effect of one more reading. In any sequence of readings, "rose" and "fell" alternate."""
    if level.high:
        return ("fell", Level()) if percent <= limits.under else (None, level)
    if percent < limits.over:
        return None, Level()
    # If the clock was set back, the episode must not wait forever.
    since = now if level.since is None else min(level.since, now)
    if now - since >= limits.for_seconds:
        return "rose", Level(high=True)
    return None, Level(since=since)


class Wording(msgspec.Struct, frozen=True):
    """The texts for levels of one kind: "{of}" is the measured thing, as in "Disk {of}"."""

    subject: str
    of_what: str


class LevelSensor:
    """Measures several levels of one kind; each may appear and disappear independently."""

    kind = dict[str, Level]

    def __init__(
        self,
        name: str,
        every: float,
        measure: Callable[[], Mapping[str, Measure]],
        limits: LevelLimits,
        wording: Wording,
    ) -> None:
        self.name = name
        self.every = every
        self._measure = measure
        self._limits = limits
        self._wording = wording

    async def read(self, state: dict[str, Level] | None) -> Mapping[str, Measure]:
        """Each level by the name of the measured thing."""
        return await aside(self._measure, self.name)

    def judge(
        self, reading: Mapping[str, Measure], state: dict[str, Level] | None, now: float
    ) -> tuple[SensorEvent | None, dict[str, Level]]:
        """A sentence for each level that crossed a limit."""
        before, after, sentences = state or {}, {}, []
        for of, measure in reading.items():
            crossing, after[of] = crossed(
                measure.percent, before.get(of, Level()), self._limits, now
            )
            if crossing is not None:
                sentences.append(self._sentence(crossing, of, measure))
        sentences += [
            f"{self._subject(of)} is not there any more; it was over its limit."
            for of, level in before.items()
            if level.high and of not in reading
        ]
        return (SensorEvent(at=now, text=" ".join(sentences)) if sentences else None), after

    def seen(self, reading: Mapping[str, Measure]) -> str:
        each = (f"{of} {level.percent:.0f} %".strip() for of, level in reading.items())
        return ", ".join(each) or "nothing to measure"

    async def close(self) -> None:
        """No resources to release."""

    def _subject(self, of: str) -> str:
        return self._wording.subject.format(of=of)

    def _sentence(self, crossing: Crossing, of: str, measure: Measure) -> str:
        level = f"{measure.percent:.1f} % {self._wording.of_what}, {measure.detail}"
        limits = self._limits
        if crossing == "fell":
            return f"{self._subject(of)} is down again, under {limits.under:g} %: {level}."
        lasting = f" for {limits.for_seconds:g} s" if limits.for_seconds else ""
        return f"{self._subject(of)} has been over {limits.over:g} %{lasting}: {level}."
