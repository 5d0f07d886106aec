"""Views and changes of a home, for the operations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from nanobot.app.admin.changed_settings import changed_settings
from nanobot.app.live_settings import LiveSettings, renew_prompts
from nanobot.channels.manifests import grade_of
from nanobot.config.loader import Config, load
from nanobot.config.plugin_tables import switched_off
from nanobot.errors import UnknownId, UsageError
from nanobot.operations.home import (
    ChangedSettings,
    ChannelView,
    ModelOption,
    PluginView,
    SettingView,
)
from nanobot.providers.model_facts import NAMED_MODELS
from nanobot.seam.entry_points import Plugins
from nanobot.seam.installed import provided
from nanobot.workspace.confinement import ConfinedFiles
from nanobot.workspace.shared_files import SharedFiles

# Modules imported within the functions are needed only for changes.


class LocalHome:
    """The operations.home.HomeAdmin of one process. `live`: its current configuration; `states`:
    returns the states of its channels; `restart`: begins its end, None if it cannot start again."""

    def __init__(  # noqa: PLR0913 - each is one part of the home
        self,
        live: LiveSettings,
        environ: Mapping[str, str],
        *,
        files: ConfinedFiles,
        states: Callable[[], Mapping[str, str]],
        restart: Callable[[], None] | None,
        forget_prompts: Callable[[], Awaitable[int]],
        plugins: Callable[[], list[PluginView]] = list,
    ) -> None:
        self._live = live
        self._environ = environ
        self.files = SharedFiles(files)
        self._states = states
        self._restart = restart
        self._forget_prompts = forget_prompts
        self.plugins = plugins
        self.changing = asyncio.Lock()

    @property
    def _config(self) -> Config:
        """The current configuration."""
        return self._live.config

    # The configuration

    def settings(self, key: str) -> list[SettingView]:
        from nanobot.app.admin.setting_views import setting_views  # noqa: PLC0415

        return setting_views(self._config, self._environ, key)

    def schema(self) -> dict[str, Any]:
        from nanobot.config import file  # noqa: PLC0415

        return file.schema()

    async def change(
        self, values: Mapping[str, str | None], *, force: bool = False
    ) -> ChangedSettings:
        from nanobot.app.admin.setting_changes import SettingChanges  # noqa: PLC0415

        changes = SettingChanges.of(values)
        check = None if force else provided(NAMED_MODELS)
        if check is not None:
            await check(changes.keys, self._environ)
        async with self.changing:
            file = await asyncio.to_thread(changes.write, self._environ, self._live.check)
            config = await asyncio.to_thread(load, self._environ)
            changed = self._live.take(config)
        await renew_prompts(self._live, changed, self._forget_prompts)
        off = switched_off(list(values), config)
        return changed_settings(list(values), file, changed, self._environ, off)

    # Starting again

    def restart(self) -> None:
        if self._restart is None:
            raise UsageError("only a gateway can restart itself: exit, and start it again")
        load(self._environ)  # if it could not start again, it continues instead
        self._restart()

    # Models

    def models(self) -> list[ModelOption]:
        agent = self._config.agent
        described = [
            f"{provider}/{model}"
            for provider, settings in self._config.providers.items()
            for model in settings.models
        ]
        options = {agent.model: ModelOption(name=agent.model, use="default")}
        for name in agent.fallback_models:
            options.setdefault(name, ModelOption(name=name, use="fallback"))
        for name in described:
            options.setdefault(name, ModelOption(name=name))
        return list(options.values())

    # Plugins

    async def switch_plugin(self, name: str, *, on: bool) -> PluginView:
        named = {view.name: view for view in self.plugins()}
        if name not in named:
            raise UnknownId(f"There is no plugin {name[:60]!r}: nanobot plugins list")
        file = await asyncio.to_thread(load, self._environ)
        off = {*file.plugins.off} - {name} if on else {*file.plugins.off, name}
        await self.change({"plugins.off": ",".join(sorted(off)) or None})
        return msgspec.structs.replace(named[name], state="on" if on else "off", why="")

    # Channels

    def channels(self) -> list[ChannelView]:
        states, plugins = self._states(), Plugins()
        return [
            ChannelView(
                name=name,
                type=settings.type or name,
                state=states.get(name, "off"),
                enabled=settings.enabled,
                owners=[str(owner) for owner in settings.owners],
                members=[str(member) for member in settings.members],
                grade=grade_of(settings.type or name, plugins),
            )
            for name, settings in self._config.channels.items()
        ]
