"""What other packages add, by entry points: loaded one by one, and left out where broken."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from importlib.metadata import Distribution, EntryPoint, PathDistribution, distributions
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from loguru import logger

from nanobot.boundary import Caught, boundary
from nanobot.errors import ConfigError, NanobotError, PluginBroken
from nanobot.system import DISTRIBUTION, sparing_authorities

TOOLS = "nanobot.tools"
CHANNELS = "nanobot.channels"
RUN_TYPES = "nanobot.run_types"
TRIGGERS = "nanobot.triggers"
PROVIDERS = "nanobot.providers"
PLUGINS = "nanobot.plugins"

_GROUPS = (TOOLS, CHANNELS, RUN_TYPES, TRIGGERS, PROVIDERS, PLUGINS)
BUILT_IN = (
    "evals",
    "events",
    "heartbeat",
    "hooks",
    "metrics",
    "quiet",
    "replay",
    "traces",
    "voice",
)
"""The plugins in `nanobot/plugins`, as if our own distribution had an entry point for each. Real
ones would be those of the version that was installed: a checkout changes without that."""

IMPORT_SECONDS = 10.0
"""So long may the import of a package take; a start waits for nothing longer."""

_OWN = frozenset({DISTRIBUTION, "nanobot"})
"""The second is what environments call it that were made before the first release."""
# For the whole process: its locks of modules are the process's, too.
_stuck: dict[str, threading.Thread] = {}
T = TypeVar("T")


class LoadedPlugin(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What an entry point gave. `package`: the distribution that brought it."""

    name: str
    package: str
    what: T


class BrokenPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """An entry point that is not used, and why."""

    group: str
    name: str
    package: str
    why: str

    def __str__(self) -> str:
        package = f" of the package {self.package}" if self.package else ""
        return f"{self.name}{package} ({self.group}) is left out: {self.why}"

    def reported(self) -> BrokenPlugin:
        """Itself, once the log says so."""
        logger.error("{}", self)
        return self


class Plugins:
    """What is installed, as one start sees it. Nothing here fails because of somebody else's code:
    what is broken is named in the log and in `left_out`. `points`: instead of what is installed.

    Packages of others are imported on a thread of their own, for at most `patience` seconds. One
    that takes longer is left out with everything else of its package; its thread cannot be ended,
    and keeps Python's locks of the modules that it is importing. Nothing else waits for these
    unless it imports the same modules; the process ends without waiting for the thread.
    """

    def __init__(
        self, points: Iterable[EntryPoint] | None = None, patience: float = IMPORT_SECONDS
    ) -> None:
        self.left_out: list[BrokenPlugin] = []
        self._points = None if points is None else list(points)
        self._patience = patience

    def each(
        self, group: str, use: Callable[[LoadedPlugin[Any]], T], *, own: bool = True
    ) -> list[LoadedPlugin[T]]:
        """Load every one of a group and have it used, in an order that stays: by name, nanobot's
        own (not if `own` is False) first. `use` raises NanobotError for what does not fit."""
        points = [point for point in self._of(group) if own or not _is_own(point)]
        loaded = [self._used(point, use) for point in points]
        return [plugin for plugin in loaded if isinstance(plugin, LoadedPlugin)]

    def points(self, group: str) -> list[EntryPoint]:
        """The entry points of a group, in their order; none is loaded."""
        return self._of(group)

    def built_in(self, plugin: LoadedPlugin[Any]) -> bool:
        """Whether nanobot brings it itself."""
        return not plugin.package or plugin.package in _OWN

    def names(self, group: str) -> tuple[str, ...]:
        """What there is in a group, without loading any of it. A name that is taken already is
        left out."""
        return tuple(self._named(group))

    def one(self, group: str, name: str, use: Callable[[LoadedPlugin[Any]], T]) -> LoadedPlugin[T]:
        """Load the one of that name and have it used. Raises PluginBroken, which is in `left_out`
        too; KeyError if there is none of that name."""
        loaded = self._used(self._named(group)[name], use)
        if isinstance(loaded, BrokenPlugin):
            raise PluginBroken(str(loaded))
        return loaded

    def opened(self, group: str, name: str, call: Callable[[Any], T]) -> T:
        """What the function of that name opens, as `call` calls it. Raises ConfigError for settings
        that it refuses; else as `one`."""
        refused: list[ConfigError] = []

        def use(plugin: LoadedPlugin[Any]) -> T | None:
            try:
                return call(plugin.what)
            except ConfigError as error:
                refused.append(error)
                return None

        what = self.one(group, name, use).what
        if what is None:
            raise refused[0]
        return what

    def folder(self, group: str, name: str) -> Path | None:
        """Where the package of the module lies that the entry point of that name names, without
        importing any of it; None if it is in no package. Raises KeyError if there is none of that
        name."""
        top, *below = self._named(group)[name].module.split(".")
        found: list[str] = []
        with boundary(f"the place of {top}"):
            spec = importlib.util.find_spec(top)
            found = list(spec.submodule_search_locations or ()) if spec is not None else []
        places = [Path(place, *below) for place in found]
        packages = [place if place.is_dir() else place.parent for place in places]
        return next((package for package in packages if package.is_dir()), None)

    def survey(self, group: str, opens: str, *, own: bool = True) -> None:
        """Load every one of a group, so that `left_out` has what is broken; none is called.
        `opens`: what these functions open."""
        self.names(group)
        self.each(group, lambda plugin: check_opener(plugin.what, opens), own=own)

    def _named(self, group: str) -> dict[str, EntryPoint]:
        named: dict[str, EntryPoint] = {}
        for point in self._of(group):
            first = named.setdefault(point.name, point)
            if first is not point:
                self._leave(point, f"the name is taken by {_package(first) or first.value}")
        return named

    def _of(self, group: str) -> list[EntryPoint]:
        if self._points is None:
            places = tuple((place, _changed(place)) for place in sys.path)
            self._points = [*built_in(), *_installed(places)]
        return sorted(
            {point for point in self._points if point.group == group},
            key=lambda p: (not _is_own(p), p.name, _package(p), p.value),
        )

    def _used(
        self, point: EntryPoint, use: Callable[[LoadedPlugin[Any]], T]
    ) -> LoadedPlugin[T] | BrokenPlugin:
        why = ""
        with boundary(f"{point.name} of {point.group}") as caught:
            try:
                package = _package(point)
                what = _own(point) if _is_own(point) else self._imported(point, caught)
                if caught.error is None:
                    loaded = LoadedPlugin(name=point.name, package=package, what=what)
                    return LoadedPlugin(name=loaded.name, package=package, what=use(loaded))
            except NanobotError as error:
                why = str(error)
        if caught.error is not None:
            why = f"{type(caught.error).__name__}: {caught.error}"
        return self._leave(point, why)

    def _imported(self, point: EntryPoint, caught: Caught) -> Any:
        """What it gives, or None and the error in `caught`. Raises PluginBroken if its import does
        not end."""
        result: list[Any] = []
        failed: list[Exception] = []

        def load() -> None:
            with boundary(f"{point.name} of {point.group}") as inner:
                result.append(point.load())
            if inner.error is not None:
                failed.append(inner.error)

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
        caught.error = failed[0] if failed else None
        return result[0] if result else None

    def _leave(self, point: EntryPoint, why: str) -> BrokenPlugin:
        short = " ".join(why.split())[:500]
        left = BrokenPlugin(group=point.group, name=point.name, package=_package(point), why=short)
        if left not in self.left_out:
            self.left_out.append(left.reported())
        return left


def check_opener(what: Any, opens: str) -> None:
    """Raises PluginBroken for what is no function."""
    if not callable(what):
        raise PluginBroken(f"it gives a {type(what).__name__}, not a function that opens {opens}")


@lru_cache(maxsize=1)
def _installed(places: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """What the packages in these folders add, of every group: read from the disk, so once for as
    long as nothing is installed or removed."""
    return tuple(
        point
        for distribution in _extending([place for place, _ in places])
        for point in distribution.entry_points
        if point.group in _GROUPS
    )


def _extending(places: Iterable[str]) -> Iterator[Distribution]:
    """The distributions whose entry points name one of our groups. Of two with one name the first
    counts. importlib.metadata parses the entry points of every distribution there is, which takes
    ten times as long."""
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
    """When something was last put into a folder of `sys.path`, or taken out; 0 if it is none."""
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


@cache
@sparing_authorities()
def _own(point: EntryPoint) -> Any:
    return point.load()


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else ""


def built_in() -> list[EntryPoint]:
    """The entry points of the built-in plugins."""
    return [
        EntryPoint(name=name, value=f"nanobot.plugins.{name}:PLUGIN", group=PLUGINS)
        for name in BUILT_IN
    ]


def _is_own(point: EntryPoint) -> bool:
    return _package(point) in _OWN or point in built_in()
