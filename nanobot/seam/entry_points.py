"""Extensions from other packages, by entry points: loaded one by one; broken ones are left out."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib.metadata import Distribution, EntryPoint, PathDistribution, distributions
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from nanobot.errors import ConfigError, NanobotError, PluginBroken
from nanobot.log_context import rarely_used_log
from nanobot.seam.given import failing
from nanobot.system import DISTRIBUTION, sparing_authorities

TOOLS = "nanobot.tools"
CHANNELS = "nanobot.channels"
RUN_TYPES = "nanobot.run_types"
TRIGGERS = "nanobot.triggers"
PROVIDERS = "nanobot.providers"
PLUGINS = "nanobot.plugins"

_GROUPS = (TOOLS, CHANNELS, RUN_TYPES, TRIGGERS, PROVIDERS, PLUGINS)
BUILT_IN = (
    "anthropic",
    "approvals",
    "audit",
    "auto",
    "budgets",
    "claims",
    "code_files",
    "command_line",
    "configuration",
    "context",
    "control",
    "conversations",
    "cron",
    "diagnostics",
    "documents",
    "embedded",
    "erasure",
    "evals",
    "events",
    "feedback",
    "file_labels",
    "file_tools",
    "files",
    "fork",
    "gemini",
    "hearing",
    "heartbeat",
    "help",
    "hooks",
    "http",
    "http_api",
    "jobs",
    "kit",
    "language",
    "library",
    "lifecycle",
    "litellm",
    "logs",
    "maintenance",
    "mcp",
    "memory",
    "menus",
    "metrics",
    "missed_reactions",
    "models",
    "object_storage",
    "openai",
    "page",
    "pairing",
    "postgres",
    "progress",
    "prompt_files",
    "proof",
    "quarantine",
    "quiet",
    "reader",
    "replay",
    "runs",
    "search",
    "sending",
    "setup",
    "shell",
    "skills",
    "starter",
    "summaries",
    "switches",
    "tasks",
    "terminal",
    "titles",
    "top",
    "traces",
    "triage",
    "troubles",
    "voice",
    "web_access",
    "web_tools",
)
"""The plugins in `nanobot/plugins`, as if our own distribution had an entry point for each. Real
ones would be those of the version that was installed: a checkout changes without that."""

_Places: TypeAlias = tuple[tuple[str, int], ...]
"""The folders of `sys.path`, each with the time of its last change."""
IMPORT_SECONDS = 10.0
"""Time limit for importing a package; a start waits no longer for anything."""

_OWN = frozenset({DISTRIBUTION, "nanobot"})
"""The second is the name in environments made before the first release."""
# For the whole process, like its locks of modules.
_stuck: dict[str, threading.Thread] = {}
T = TypeVar("T")


class LoadedPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded entry point. `package`: its distribution."""

    name: str
    package: str
    what: Any


class BrokenPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """An entry point that is not used, and why."""

    group: str
    name: str
    package: str
    why: str
    missing: bool = False
    """It is one of nanobot's own plugins, and not there."""

    def __str__(self) -> str:
        package = f" of the package {self.package}" if self.package else ""
        return f"{self.name}{package} ({self.group}) is left out: {self.why}"

    def reported(self) -> BrokenPlugin:
        """Log it; returns itself."""
        rarely_used_log().error("{}", self)
        return self


class Plugins:
    """The installed extensions, as one start sees them. Other packages' code cannot make anything
    fail here: broken ones are named in the log and in `left_out`. `points` replaces the installed
    ones.

    Other packages are imported on a separate thread, for at most `patience` seconds. One that takes
    longer is left out with the rest of its package. Its thread cannot be ended and keeps Python's
    locks of the modules that it is importing. Only imports of the same modules wait for these, and
    the process ends without waiting for the thread.
    """

    def __init__(
        self, points: Iterable[EntryPoint] | None = None, patience: float = IMPORT_SECONDS
    ) -> None:
        self.left_out: list[BrokenPlugin] = []
        self._points = None if points is None else list(points)
        self._places: _Places | None = None
        self._patience = patience

    def each(self, group: str, use: Callable[[LoadedPlugin], T], *, own: bool = True) -> list[T]:
        """Load every one of a group, pass it to `use` and return the results, in a fixed order: by
        name, nanobot's first (none of these if `own` is False). `use` raises NanobotError for an
        unusable one."""
        points = [point for point in self.points(group) if own or not _is_own(point)]
        loaded = [self._used(point, use) for point in points]
        missing = [each for each in loaded if isinstance(each, BrokenPlugin) and each.missing]
        if len(missing) == 1:
            missing[0].reported()
        elif missing:
            rarely_used_log().error(
                "{} of nanobot's {} built-in plugins are not there ({}), and it works without "
                "them; install {} again to get them back",
                *(len(missing), len(BUILT_IN), some_of([each.name for each in missing])),
                DISTRIBUTION,
            )
        return [used for used in loaded if not isinstance(used, BrokenPlugin)]

    def built_in(self, plugin: LoadedPlugin) -> bool:
        """Whether it belongs to nanobot."""
        return not plugin.package or plugin.package in _OWN

    def names(self, group: str) -> tuple[str, ...]:
        """The names in a group, without loading any. A duplicate name is left out."""
        return tuple(self._named(group))

    def opened(self, group: str, name: str, call: Callable[[Any], T]) -> T:
        """Load the one with that name, pass it to `call` and return the result. Raises ConfigError
        for settings that are refused; PluginBroken, which is then in `left_out` too;
        KeyError if the name is unknown."""
        point = self._named(group)[name]
        used = self._used(point, lambda plugin: call(plugin.what), ConfigError)
        if isinstance(used, BrokenPlugin):
            raise PluginBroken(str(used))
        return used

    def _named(self, group: str) -> dict[str, EntryPoint]:
        named: dict[str, EntryPoint] = {}
        for point in self.points(group):
            first = named.setdefault(point.name, point)
            if first is not point:
                self._leave(point, f"the name is taken by {_package(first) or first.value}")
        return named

    def points(self, group: str) -> list[EntryPoint]:
        """The entry points of a group, in order, without loading them."""
        if self._points is not None:
            return _in_order(self._points, group)
        if self._places is None:
            self._places = tuple((place, _changed(place)) for place in sys.path)
        return list(_of_group(self._places, group))

    def _used(
        self,
        point: EntryPoint,
        use: Callable[[LoadedPlugin], T],
        *passing: type[NanobotError],
    ) -> T | BrokenPlugin:
        why, missing = list[str](), False
        with failing(f"{point.name} of {point.group}", why.append, *passing):
            try:
                what = _own(point) if _is_own(point) else self._imported(point)
            except ModuleNotFoundError as error:
                if not f"{point.module}.".startswith(f"{error.name}."):
                    raise
                missing = point in built_in()
                # It is not there: no trace says more.
                raise PluginBroken(f"ModuleNotFoundError: {error}") from None
            return use(LoadedPlugin(name=point.name, package=_package(point), what=what))
        return self._leave(point, why[0], missing=missing)

    def _imported(self, point: EntryPoint) -> Any:
        """The imported object. Raises PluginBroken if the import fails or does not end."""
        result, failed = list[Any](), list[str]()

        def load() -> None:
            with failing(f"{point.name} of {point.group}", failed.append):
                result.append(point.load())

        root = point.module.partition(".")[0]
        if root in _stuck and _stuck[root].is_alive():
            raise PluginBroken(f"the import of {root} is stuck")
        thread = threading.Thread(target=load, name=f"import {point.module}", daemon=True)
        thread.start()
        thread.join(self._patience)
        if thread.is_alive():
            _stuck[root] = thread
            raise PluginBroken(
                f"its import has not ended within {self._patience:g} s; what takes time belongs "
                "into the functions that need it"
            )
        if failed:
            raise PluginBroken(failed[0])
        return result[0]

    def _leave(self, point: EntryPoint, why: str, *, missing: bool = False) -> BrokenPlugin:
        """Missing ones are reported together, by `each`."""
        left = BrokenPlugin(
            group=point.group,
            name=point.name,
            package=_package(point),
            why=" ".join(why.split())[:500],
            missing=missing,
        )
        if left not in self.left_out:
            self.left_out.append(left if missing else left.reported())
        return left


def some_of(names: Sequence[str]) -> str:
    """These names, or the first three and how many more there are."""
    more = len(names) - 3
    return ", ".join(names) if more < 1 else f"{', '.join(names[:3])} and {more} more"


@lru_cache(maxsize=1)
def _installed(places: _Places) -> tuple[EntryPoint, ...]:
    """The entry points in these folders, of every group. Read from disk once, until a package is
    installed or removed."""
    return tuple(
        point
        for distribution in _extending([place for place, _ in places])
        for point in distribution.entry_points
        if point.group in _GROUPS
    )


def _extending(places: Iterable[str]) -> Iterator[Distribution]:
    """The distributions with entry points in our groups. If two have the same name, the first
    counts. importlib.metadata would parse the entry points of every distribution, which is ten
    times slower."""
    seen: set[str] = set()
    for place in places:
        if os.path.isfile(place):  # noqa: PTH113 - an archive of modules
            for archived in distributions(path=[place]):
                if "nanobot." in (archived.read_text("entry_points.txt") or ""):
                    yield archived
            continue
        for name in _names(place):
            distribution = name.rpartition(".")[0].partition("-")[0].lower().replace(".", "_")
            if distribution not in seen and name.endswith((".dist-info", ".egg-info")):
                seen.add(distribution)
                if _extends(f"{place or '.'}/{name}"):
                    yield PathDistribution(Path(place, name))


def _names(place: str) -> list[str]:
    try:
        return os.listdir(place or ".")  # noqa: PTH208 - paths for each would cost the gain
    except OSError:
        return []


def _extends(folder: str) -> bool:
    try:
        with open(f"{folder}/entry_points.txt", "rb") as file:  # noqa: PTH123 - see _names
            return b"nanobot." in file.read()
    except OSError:
        return False


def _changed(place: str) -> int:
    """When the contents of a folder of `sys.path` last changed; 0 if it is not a folder."""
    try:
        return os.stat(place or ".").st_mtime_ns  # noqa: PTH116 - see _names
    except OSError:
        return 0


@cache
@sparing_authorities()
def _own(point: EntryPoint) -> Any:
    return point.load()


@lru_cache(maxsize=len(_GROUPS))
def _of_group(places: _Places, group: str) -> tuple[EntryPoint, ...]:
    """Read once, as `_installed`: each reader of the configuration asks for them."""
    return tuple(_in_order([*built_in(), *_installed(places)], group))


def _in_order(points: Iterable[EntryPoint], group: str) -> list[EntryPoint]:
    return sorted(
        {point for point in points if point.group == group},
        key=lambda p: (not _is_own(p), p.name, _package(p), p.value),
    )


def _package(point: EntryPoint) -> str:
    return "" if point.dist is None else _name(point.dist)


@lru_cache(maxsize=256)
def _name(distribution: Distribution) -> str:
    """Its name, for which importlib.metadata parses all its metadata anew each time: 3 ms."""
    return distribution.name


@cache
def built_in() -> frozenset[EntryPoint]:
    """The entry points of the built-in plugins."""
    return frozenset(
        EntryPoint(name=name, value=f"nanobot.plugins.{name}:PLUGIN", group=PLUGINS)
        for name in BUILT_IN
    )


def _is_own(point: EntryPoint) -> bool:
    return _package(point) in _OWN or point in built_in()
