"""Watches files and folders and reports a burst of changes as one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath

import msgspec
from loguru import logger

from nanobot.plugins.common.threads import aside
from nanobot.plugins.events.burst import MOST, Burst, grown, over
from nanobot.plugins.events.globs import Globs
from nanobot.plugins.events.plain import plain
from nanobot.plugins.events.sensor import SensorEvent
from nanobot.plugins.events.settings import FilesSettings
from nanobot.plugins.events.watching import PathChanges, WatchedPath

_EVERY = 2.0
_NAMED = 20
_WORDS = {"new": "new", "changed": "changed", "gone": "gone"}


class FilesState(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which paths existed, and the unreported changes."""

    there: Mapping[str, bool] = {}
    burst: Burst | None = None


class FilesSensor:
    """The watched paths of one table."""

    kind = FilesState
    every = _EVERY

    def __init__(self, name: str, settings: FilesSettings, fold_seconds: float) -> None:
        self.name = f"files.{name}"
        globs = Globs(settings.include, settings.ignore)
        self._fold = fold_seconds
        self._paths = [
            WatchedPath(path, globs, recursive=settings.recursive) for path in settings.paths
        ]
        self._troubles: set[str] = set()

    async def read(self, state: FilesState | None) -> dict[str, PathChanges]:
        """The changes since the last reading, by watched path."""
        changes = await aside(
            lambda: {watched.path: watched.take() for watched in self._paths}, self.name
        )
        troubles = {watched.trouble for watched in changes.values() if watched.trouble}
        for trouble in troubles - self._troubles:
            logger.warning("events.{}: {}", self.name, trouble)
        self._troubles = troubles
        return changes

    def judge(
        self, reading: Mapping[str, PathChanges], state: FilesState | None, now: float
    ) -> tuple[SensorEvent | None, FilesState]:
        """A sentence for each finished burst, and one for each watched path that appeared or
        disappeared.
        """
        before = state or FilesState()
        there = {
            path: before.there.get(path, changes.there) if changes.trouble else changes.there
            for path, changes in reading.items()
        }
        burst = before.burst
        for changes in reading.values():
            if changes.total:
                burst = grown(burst, changes.changes, changes.total, now)
        sentences = [
            f"{path} is there {'again' if is_there else 'no longer'}."
            for path, is_there in there.items()
            if before.there.get(path, is_there) is not is_there
        ]
        outside: tuple[str, ...] = ()
        if burst is not None and (sentences or over(burst, self._fold, now)):
            sentences.insert(0, _counted(burst, ", ".join(reading)))
            outside = tuple(map(plain, _named(burst, list(reading))))
            burst = None
        event = (
            SensorEvent(at=now, text=" ".join(sentences), outside=outside) if sentences else None
        )
        return event, FilesState(there, burst)

    def seen(self, reading: Mapping[str, PathChanges]) -> str:
        """Whether each path is watched."""
        return "; ".join(
            changes.trouble or f"{path}: {'watched' if changes.there else 'not there'}"
            for path, changes in reading.items()
        )

    async def close(self) -> None:
        for watched in self._paths:
            watched.close()


def _counted(burst: Burst, where: str) -> str:
    files = list(burst.things.values())
    if not burst.whole:
        return f"More than {MOST:,} files changed in {where} ({burst.total:,} changes)."
    count = {what: files.count(what) for what in _WORDS}
    each = ", ".join(f"{count[what]} {word}" for what, word in _WORDS.items() if count[what])
    return f"{len(files)} file{'s' * (len(files) != 1)} changed in {where} ({each})."


def _named(burst: Burst, roots: Iterable[str]) -> list[str]:
    """The first changes by name; a move counts as one."""
    moves = moved(burst.things)
    lines = [f"moved: {_below(old, roots)} -> {_below(new, roots)}" for old, new in moves.items()]
    paths = {*moves, *moves.values()}
    lines += [
        f"{_WORDS.get(what, what)}: {_below(path, roots)}"
        for path, what in burst.things.items()
        if path not in paths
    ]
    more = len(lines) - _NAMED
    if more > 1:
        lines[_NAMED:] = [f"and {more:,} others"]
    return lines


def moved(things: Mapping[str, str]) -> dict[str, str]:
    """The likely moves, as pairs of old and new path: a file that disappeared in one place and
    appeared elsewhere under the same name, or a single disappearance and a single appearance with
    the same suffix.
    """
    gone = [path for path, what in things.items() if what == "gone"]
    new = [path for path, what in things.items() if what == "new"]
    if len(gone) == len(new) == 1 and PurePath(gone[0]).suffix == PurePath(new[0]).suffix:
        return {gone[0]: new[0]}
    by_name: dict[str, list[str]] = {}
    for path in new:
        by_name.setdefault(PurePath(path).name, []).append(path)
    pairs: dict[str, str] = {}
    for path in gone:
        same = by_name.get(PurePath(path).name, [])
        if len(same) == 1 and same[0] not in pairs.values():
            pairs[path] = same[0]
    return pairs


def _below(path: str, roots: Iterable[str]) -> str:
    for root in roots:
        expanded = str(PurePath(root))
        if path.startswith(f"{expanded}/"):
            return path.removeprefix(f"{expanded}/")
    return path
