"""The enabled plugins of one gateway, the objects they are offered, and their failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from functools import partial
from typing import Any, TypeAlias, TypeVar

import msgspec
from loguru import logger

from nanobot.boundary import ungrouped
from nanobot.config.loader import Config
from nanobot.config.plugin_tables import Switched, switched
from nanobot.errors import NanobotError, PluginBroken
from nanobot.ports import Clock
from nanobot.seam.given import able, failing, functions, listed
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import NOTHING, Offers, Things
from nanobot.seam.plugin import resolved
from nanobot.seam.works import Follow, Works
from nanobot.supervision import Work
from nanobot.text import Sentence

START_SECONDS = 10.0
"""Time limit for a plugin's start; nothing else waits for it."""
END_SECONDS = 8.0
"""Time limit for its end."""
_OTHER_NAMES = {
    "serve": ": serving",
    "every_process": ": in every process",
    "one_process": ": in one process",
}
T = TypeVar("T")
Use: TypeAlias = Callable[[FoundPlugin, Any], T]


class Plugged:
    """Makes every call of a plugin's function. If one fails, this is reported, and only that
    function's contribution is missing."""

    def __init__(self, config: Config) -> None:
        self.switched: Switched = switched(config)
        """Those that are on, and why the others are off."""
        self.tables: Mapping[str, Any] = config.tables
        """The settings for functions that are called from now on."""
        self.failures: dict[str, dict[str, str]] = {}
        """Why which field of which plugin failed."""
        self.offers = Offers({Config: config})
        self.follows: dict[str, Follow] = {name: Follow() for name in self.on}

    @property
    def on(self) -> Mapping[str, FoundPlugin]:
        return self.switched.on

    @property
    def off(self) -> Mapping[str, Sentence]:
        return self.switched.off

    def each(self, field: str, use: Use[T], more: Things = NOTHING) -> list[T]:
        """Call the function in that field of each enabled plugin, offering `more` in addition, and
        pass its result to `use`, which raises NanobotError for an invalid one."""
        used: list[T] = []
        for found in self._having(field):
            with self.failing(found, field):
                used.append(use(found, self.call(found, field, more)))
        return used

    def _having(self, field: str) -> list[FoundPlugin]:
        return [found for found in self.on.values() if getattr(found.plugin, field) is not None]

    def only(
        self, field: str, port: type[Any], several: Sentence, more: Things = NOTHING
    ) -> tuple[FoundPlugin, Any] | None:
        """What the one plugin gives that has something in that field, with all functions of `port`;
        None if none does. A further one is named with the reason `several`."""
        kept: list[tuple[FoundPlugin, Any]] = []

        def use(found: FoundPlugin, given: Any) -> None:
            if given is not None:
                able(given, port)
                if kept:
                    raise PluginBroken(several)
                kept.append((found, given))

        self.each(field, use, more)
        return kept[0] if kept else None

    def functions(self, field: str) -> list[tuple[FoundPlugin, Any]]:
        """The functions that plugins give in that field, in order, each with its plugin."""
        return self._several(field, functions)

    def listed(
        self, field: str, kind: type[T], more: Things = NOTHING
    ) -> list[tuple[FoundPlugin, T]]:
        """The same of things of a type."""
        return self._several(field, lambda given: listed(given, kind), more)

    def _several(
        self, field: str, read: Callable[[Any], list[T]], more: Things = NOTHING
    ) -> list[tuple[FoundPlugin, T]]:
        def use(found: FoundPlugin, given: Any) -> list[tuple[FoundPlugin, T]]:
            return [(found, each) for each in read(given)]

        return [each for some in self.each(field, use, more) for each in some]

    def call(self, found: FoundPlugin, field: str, more: Things = NOTHING) -> Any:
        """The result of the function in a field. Raises any error of the function."""
        own: dict[Any, Any] = dict(more)
        own[Follow] = self.follows.get(found.name) or Follow()  # none if it is off
        if found.table in self.tables:
            kind: Any = found.plugin.settings
            asked = Mapping[str, kind] if found.plugin.named else kind
            own[asked] = self.tables[found.table]
        return self.offers.call(resolved(getattr(found.plugin, field)), own)

    def failing(
        self, found: FoundPlugin, field: str, *passing: type[NanobotError]
    ) -> AbstractContextManager[None]:
        """Catch a failure while inside, and note it as the plugin's, unless it is a `passing` one,
        which is raised."""
        what: Sentence = f"{field} of the plugin {found.name}"
        return failing(what, partial(self.fail, found.name, field), *passing)

    def drop(self, name: str) -> None:
        """The plugin cannot be used at all."""
        on = {other: found for other, found in self.on.items() if other != name}
        self.switched = msgspec.structs.replace(self.switched, on=on)

    def fail(self, name: str, field: str, why: str) -> None:
        """Note the failure of a plugin's field."""
        short = " ".join(why.split())[:500]
        self.failures.setdefault(name, {})[field] = short
        logger.error("{} of the plugin {} is left out: {}", field, name, short)

    # Starting

    def works(self, field: str, clock: Clock) -> dict[str, Work]:
        """What keeps every plugin with that field started, by the names of the tasks; nothing waits
        for it."""
        return {
            f"plugin {found.name}{_OTHER_NAMES.get(field, '')}": partial(
                self._live, found, clock, field
            )
            for found in self._having(field)
        }

    async def _live(self, found: FoundPlugin, clock: Clock, field: str) -> None:
        try:
            with ungrouped():
                async with (
                    asyncio.TaskGroup() as tasks,
                    self._entered(found, field, {Works: Works(tasks, clock)}),
                ):
                    self.failures.get(found.name, {}).pop(field, None)
                    await asyncio.Event().wait()
        except Exception as error:
            self.fail(found.name, field, f"{type(error).__name__}: {error}")
            raise

    @asynccontextmanager
    async def around(
        self, field: str, more: Things = NOTHING, *passing: type[NanobotError]
    ) -> AsyncIterator[None]:
        """Enter what plugins have in that field, offering `more` in addition. If one fails, the
        others are entered. Raises `passing` errors."""
        async with AsyncExitStack() as stack:
            for found in self._having(field):
                with self.failing(found, field, *passing):
                    entered = self._entered(found, field, more)
                    await entered.__aenter__()
                    stack.push_async_callback(self._left, found, field, entered)
            yield

    async def _left(
        self, found: FoundPlugin, field: str, entered: AbstractAsyncContextManager[None]
    ) -> None:
        with self.failing(found, field):
            await entered.__aexit__(None, None, None)

    @asynccontextmanager
    async def _entered(self, found: FoundPlugin, field: str, more: Things) -> AsyncIterator[None]:
        """Within what a plugin has in that field. Raises whatever goes wrong there."""
        manager = self.call(found, field, more)
        if manager is None:
            yield
            return
        seconds = getattr(manager, "seconds", START_SECONDS)
        try:
            async with asyncio.timeout(seconds):
                await _manager(manager).__aenter__()
        except TimeoutError:
            raise PluginBroken(f"it has not started within {seconds:g} s") from None
        try:
            yield
        finally:
            async with asyncio.timeout(END_SECONDS):
                await manager.__aexit__(None, None, None)


def _manager(given: Any) -> AbstractAsyncContextManager[Any]:
    if not isinstance(given, AbstractAsyncContextManager):
        kind = type(given).__name__
        raise PluginBroken(f"it gives a {kind}, not an asynchronous context manager")
    return given
