"""Applies changes of the configuration to the parts of a gateway while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

from nanobot.app.live_settings import LiveSettings
from nanobot.app.plugged import Plugged
from nanobot.config.loader import Config, load
from nanobot.config.values import variable_of
from nanobot.operations.home import ChangedSettings, LiveChanges
from nanobot.plugins.common.keys.declared_keys import Applies
from nanobot.plugins.common.keys.home_settings import HomeSettings
from nanobot.plugins.common.store.session_lists import SessionLists
from nanobot.plugins.configuration.comparing import differing, with_live_keys
from nanobot.plugins.configuration.following import Follower, followers_of
from nanobot.plugins.configuration.owners import switched_off
from nanobot.seam.offers import Environment
from nanobot.store.opening import Store


def always_objects(environ: Environment, plugged: Plugged) -> dict[Any, object]:
    """The configuration as operations change it, by its type."""
    return {HomeSettings: HomeSettings(environ, partial(plugged.offers.find, LiveChanges))}


def objects(
    live: LiveSettings, environ: Environment, store: Store, plugged: Plugged
) -> dict[Any, object]:
    """What applies changes, by its type."""
    return {LiveChanges: AppliedChanges(live, environ, store, plugged)}


class AppliedChanges:
    """The LiveChanges of one process. Changes of keys declared as live are applied at once by the
    parts that follow them; all other keys keep their values from the start."""

    def __init__(
        self, live: LiveSettings, environ: Environment, store: Store, plugged: Plugged
    ) -> None:
        self._live, self._environ = live, environ
        self._sessions = SessionLists(store.database, store.writer)
        self._plugged = plugged

    @cached_property
    def _followers(self) -> list[Follower]:
        return followers_of(self._plugged)

    def check(self, new: Config) -> None:
        for follower in self._followers:
            follower.check(new)

    async def apply(self, written: ChangedSettings) -> ChangedSettings:
        config = await asyncio.to_thread(load, self._environ)
        changed = self._take(config)
        if any(_below(key, self._live.in_prompts) for key in changed):
            await self._sessions.forget_prompts()
        return ChangedSettings(
            keys=written.keys,
            file=written.file,
            applied=[key for key in written.keys if "now" in _effects(key, changed)],
            restart=[key for key in written.keys if "restart" in _effects(key, changed)],
            overridden=[key for key in written.keys if self._environ.get(variable_of(key))],
            off=switched_off(written.keys, config),
        )

    def _take(self, new: Config) -> Mapping[str, Applies]:
        """Apply the live changes. Returns every changed key, with when its change takes effect."""
        live = self._live
        changed = differing(live.config, new)
        now = [key for key, applies in changed.items() if applies == "now"]
        live.config = with_live_keys(live.config, new)
        for follower in self._followers:
            if any(_below(key, follower.keys) for key in now):
                follower.take(live.config)
        return changed


def _below(key: str, beginnings: tuple[str, ...]) -> bool:
    return any(key == start or key.startswith(f"{start}.") for start in beginnings)


def _effects(key: str, changed: Mapping[str, Applies]) -> set[Applies]:
    """When the changes of a key, or of all keys below it, take effect."""
    return {when for name, when in changed.items() if _below(name, (key,))}
