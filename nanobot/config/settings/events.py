"""What is watched on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from msgspec import Meta
from msgspec.structs import fields

from nanobot.config.settings.base import Count, Duration, Settings, Unfit

Share: TypeAlias = Annotated[float, Meta(gt=0, le=100)]
Load: TypeAlias = Annotated[float, Meta(gt=0, le=10_000)]
Lasting: TypeAlias = Annotated[float, Meta(ge=0, le=86_400)]
_LONGEST_PATTERN = 1_000
_LITTER = (
    *(".git", ".hg", ".svn", "node_modules", "__pycache__", ".mypy_cache", ".venv"),
    *("*.swp", "*.swx", "*~", ".#*", "4913", "*.tmp", "*.part", "*.crdownload", ".DS_Store"),
)


class WatchSettings(Settings, frozen=True, kw_only=True):
    """What every watch has. `prompt`: what the model is to do about what it tells."""

    enabled: bool = True
    prompt: str = ""


class LevelSettings(WatchSettings, frozen=True, kw_only=True):
    """A watch of a level: something begins `over` one and ends `under` another. One that is not
    written is no higher than the first."""

    over: float
    under: float

    def __post_init__(self) -> None:
        if self.under > self.over:
            raise Unfit("under", f"at most what `over` is, {self.over:g}")

    @classmethod
    def completed(cls, values: dict[str, Any], name: str) -> dict[str, Any]:
        default = next(field.default for field in fields(cls) if field.name == "under")
        return {"under": min(default, values.get("over", default)), **values}


class DiskSettings(LevelSettings, frozen=True, kw_only=True):
    """`[events.disk]`: what is used of each of `mounts` (none: all disks of this machine)."""

    mounts: tuple[str, ...] = ()
    over: Share = 90.0
    under: Share = 85.0
    for_seconds: Lasting = 60.0


class MemoryWatchSettings(LevelSettings, frozen=True, kw_only=True):
    """`[events.memory]`: what is used of the memory, without what caches would give back."""

    over: Share = 90.0
    under: Share = 80.0
    for_seconds: Lasting = 120.0


class SwapSettings(LevelSettings, frozen=True, kw_only=True):
    """`[events.swap]`: what is used of the swap space."""

    over: Share = 80.0
    under: Share = 60.0
    for_seconds: Lasting = 300.0


class LoadSettings(LevelSettings, frozen=True, kw_only=True):
    """`[events.load]`: the load of the last minute for each core; 100: all are busy."""

    over: Load = 200.0
    under: Load = 120.0
    for_seconds: Lasting = 300.0


class UnitsSettings(WatchSettings, frozen=True, kw_only=True):
    """`[events.units]`: units of systemd that failed. Names are globs; `user`: those of the user
    that nanobot runs as, too."""

    include: tuple[str, ...] = ("*",)
    ignore: tuple[str, ...] = ()
    user: bool = False
    every_seconds: Duration = 60.0


class ProcessSettings(WatchSettings, frozen=True, kw_only=True):
    """`[events.processes.NAME]`: a program that should run, by its `process` (as `ps` calls it;
    empty: the table's name) or by the file that holds its number."""

    process: str = ""
    pid_file: str = ""
    every_seconds: Duration = 10.0

    def __post_init__(self) -> None:
        if self.process and self.pid_file:
            expected = "left out where there is a process: one of them names the program"
            raise Unfit("pid_file", expected)


class FilesSettings(WatchSettings, frozen=True, kw_only=True):
    """`[events.files.NAME]`: changes of files and of all that is in folders. Globs of `include`
    and `ignore` are matched with names, those with a slash with paths below the folder."""

    paths: tuple[str, ...] = ()
    include: tuple[str, ...] = ("*",)
    ignore: tuple[str, ...] = _LITTER
    recursive: bool = True

    def __post_init__(self) -> None:
        if not self.paths or not all(self.paths):
            raise Unfit("paths", 'a list of files and folders, like ["~/inbox"]')


class LogSettings(WatchSettings, frozen=True, kw_only=True):
    """`[events.logs.NAME]`: new lines of the file `path` in which `pattern` is found."""

    path: str = ""
    pattern: str = ""
    ignore_case: bool = False
    every_seconds: Duration = 2.0

    def __post_init__(self) -> None:
        if not self.path:
            raise Unfit("path", "the path of a log")
        _check_pattern(self.pattern)


class EventsSettings(Settings, frozen=True, kw_only=True):
    """`[events]`: what happens on this machine, told to the model. Its answer goes to the chat `to`
    (CHANNEL:ID; "": to the log alone).

    What happens within `fold_seconds` is told at once, and there are no more than
    `prompts_per_hour`; what is over waits and is told with the next."""

    enabled: bool = False
    to: str = ""
    prompt: str = ""
    prompts_per_hour: Count = 12
    fold_seconds: Annotated[float, Meta(ge=0, le=3600)] = 10.0
    sample_seconds: Duration = 30.0
    disk: DiskSettings = DiskSettings()
    memory: MemoryWatchSettings = MemoryWatchSettings()
    swap: SwapSettings = SwapSettings()
    load: LoadSettings = LoadSettings()
    units: UnitsSettings = UnitsSettings()
    processes: Mapping[str, ProcessSettings] = {}
    files: Mapping[str, FilesSettings] = {}
    logs: Mapping[str, LogSettings] = {}


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
