"""The table `[events]`: the watcher of this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta
from msgspec.structs import fields

from nanobot.config.settings.base import Count, Duration, Settings, Unfit, about

Share: TypeAlias = Annotated[float, Meta(gt=0, le=100)]
Load: TypeAlias = Annotated[float, Meta(gt=0, le=10_000)]
Lasting: TypeAlias = Annotated[float, Meta(ge=0, le=86_400)]
_LONGEST_PATTERN = 1_000
_LITTER = (
    *(".git", ".hg", ".svn", "node_modules", "__pycache__", ".mypy_cache", ".venv"),
    *("*.swp", "*.swx", "*~", ".#*", "4913", "*.tmp", "*.part", "*.crdownload", ".DS_Store"),
)


class WatchSettings(Settings, frozen=True, kw_only=True):
    """The keys of every watch. `prompt`: instructions for the model about its reports."""

    enabled: Annotated[bool, about("Whether this is watched.")] = True
    prompt: Annotated[str, about("What the model is asked to do about it.")] = ""


class LevelSettings(WatchSettings, frozen=True, kw_only=True):
    """A watch of a level: something begins `over` one and ends `under` another. One that is not
    written is no higher than the first."""

    over: Annotated[float, about("Value above which it begins.", unit="%")]
    under: Annotated[float, about("Value below which it ends.", unit="%")]

    def __post_init__(self) -> None:
        if self.under > self.over:
            raise Unfit("under", f"at most what `over` is, {self.over:g}")

    @classmethod
    def completed(cls, values: dict[str, Any], name: str) -> dict[str, Any]:
        default = next(field.default for field in fields(cls) if field.name == "under")
        return {"under": min(default, values.get("over", default)), **values}


class DiskSettings(LevelSettings, frozen=True, kw_only=True):
    """`[events.disk]`: the used space of disks."""

    mounts: Annotated[tuple[str, ...], about("Mount points to watch. Empty: all disks.")] = ()
    over: Annotated[Share, about("Disk use at which it begins.", unit="%")] = 90.0
    under: Annotated[Share, about("Disk use at which it ends.", unit="%")] = 85.0
    for_seconds: Annotated[Lasting, about("How long it must last.", unit="s")] = 60.0


class MemoryWatchSettings(LevelSettings, frozen=True, kw_only=True):
    """`[events.memory]`: the used memory, without caches that the system can release."""

    over: Annotated[Share, about("Memory use at which it begins.", unit="%")] = 90.0
    under: Annotated[Share, about("Memory use at which it ends.", unit="%")] = 80.0
    for_seconds: Annotated[Lasting, about("How long it must last.", unit="s")] = 120.0


class SwapSettings(LevelSettings, frozen=True, kw_only=True):
    """`[events.swap]`: the used swap space."""

    over: Annotated[Share, about("Swap use at which it begins.", unit="%")] = 80.0
    under: Annotated[Share, about("Swap use at which it ends.", unit="%")] = 60.0
    for_seconds: Annotated[Lasting, about("How long it must last.", unit="s")] = 300.0


class LoadSettings(LevelSettings, frozen=True, kw_only=True):
    """`[events.load]`: the load of the last minute for each core; 100: all are busy."""

    over: Annotated[
        Load,
        about("Load of each core at which it begins; 100 means that all cores are busy.", unit="%"),
    ] = 200.0
    under: Annotated[Load, about("Load of each core at which it ends.", unit="%")] = 120.0
    for_seconds: Annotated[Lasting, about("How long it must last.", unit="s")] = 300.0


class UnitsSettings(WatchSettings, frozen=True, kw_only=True):
    """`[events.units]`: units of systemd that failed. Names are patterns."""

    include: Annotated[tuple[str, ...], about("Names of systemd units to watch.")] = ("*",)
    ignore: Annotated[tuple[str, ...], about("Names of systemd units to ignore.")] = ()
    user: Annotated[bool, about("Whether units of nanobot's own user are watched too.")] = False
    every_seconds: Annotated[Duration, about("How often to look.", unit="s")] = 60.0


class ProcessSettings(WatchSettings, frozen=True, kw_only=True):
    """`[events.processes.NAME]`: a program that should run."""

    process: Annotated[
        str, about("Name of the program as `ps` shows it. Empty: the name of the table.")
    ] = ""
    pid_file: Annotated[str, about("File that holds the number of the process.")] = ""
    every_seconds: Annotated[Duration, about("How often to look.", unit="s")] = 10.0

    def __post_init__(self) -> None:
        if self.process and self.pid_file:
            expected = "left out where there is a process: one of them names the program"
            raise Unfit("pid_file", expected)


class FilesSettings(WatchSettings, frozen=True, kw_only=True):
    """`[events.files.NAME]`: changes of files. Patterns match names; patterns with a slash match
    paths below the folder, where `*` stays within a folder and `**` does not."""

    paths: Annotated[tuple[str, ...], about("Files and folders to watch.")] = ()
    include: Annotated[tuple[str, ...], about("Patterns of files that count.")] = ("*",)
    ignore: Annotated[tuple[str, ...], about("Patterns of files that do not count.")] = _LITTER
    recursive: Annotated[bool, about("Whether folders within folders are watched.")] = True

    def __post_init__(self) -> None:
        if not self.paths or not all(self.paths):
            raise Unfit("paths", 'a list of files and folders, like ["~/inbox"]')


class LogSettings(WatchSettings, frozen=True, kw_only=True):
    """`[events.logs.NAME]`: lines of a log in which a pattern is found."""

    path: Annotated[str, about("Log file to read.")] = ""
    pattern: Annotated[str, about("Regular expression that finds the lines that count.")] = ""
    ignore_case: Annotated[bool, about("Whether capital and small letters are the same.")] = False
    every_seconds: Annotated[Duration, about("How often to look.", unit="s")] = 2.0

    def __post_init__(self) -> None:
        if not self.path:
            raise Unfit("path", "the path of a log")
        _check_pattern(self.pattern)


class EventsSettings(Settings, frozen=True, kw_only=True):
    """`[events]`: events of this machine. The model gets all events within `fold_seconds` as one
    report. Events above the limit of an hour are in the next report."""

    enabled: Annotated[bool, about("Whether this machine is watched.")] = False
    to: Annotated[str, about("Chat that gets the answers, as CHANNEL:ID. Empty: only the log.")] = (
        ""
    )
    prompt: Annotated[str, about("What the model is asked to do about an event.")] = ""
    prompts_per_hour: Annotated[Count, about("Most events that reach the model in an hour.")] = 12
    fold_seconds: Annotated[
        float, Meta(ge=0, le=3600), about("Events within this time are told together.", unit="s")
    ] = 10.0
    sample_seconds: Annotated[Duration, about("How often levels are measured.", unit="s")] = 30.0
    disk: Annotated[DiskSettings, about("Use of disks.")] = DiskSettings()
    memory: Annotated[MemoryWatchSettings, about("Use of memory.")] = MemoryWatchSettings()
    swap: Annotated[SwapSettings, about("Use of swap space.")] = SwapSettings()
    load: Annotated[LoadSettings, about("Load of the processors.")] = LoadSettings()
    units: Annotated[UnitsSettings, about("Failed units of systemd.")] = UnitsSettings()
    processes: Annotated[
        Mapping[str, ProcessSettings], about("Programs that should run.", named=True)
    ] = {}
    files: Annotated[Mapping[str, FilesSettings], about("Changes of files.", named=True)] = {}
    logs: Annotated[Mapping[str, LogSettings], about("New lines of logs.", named=True)] = {}


def _check_pattern(pattern: str) -> None:
    if not pattern:
        raise Unfit("pattern", 'a regular expression; "." is found in every line that is not empty')
    if len(pattern) > _LONGEST_PATTERN:
        raise Unfit("pattern", f"a regular expression of at most {_LONGEST_PATTERN} characters")
    try:
        re.compile(pattern)
    except re.error as error:
        raise Unfit("pattern", f"a regular expression, which it is not: {error}") from None
    except (RecursionError, OverflowError):
        expected = "a regular expression that is nested less deeply, with smaller counts"
        raise Unfit("pattern", expected) from None
