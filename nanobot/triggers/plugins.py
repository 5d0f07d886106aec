"""Triggers of other packages, found by the entry point group `nanobot.triggers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.config.settings.triggers import TriggerSettings
from nanobot.errors import ConfigError, PluginBroken
from nanobot.plugins import TRIGGERS, LoadedPlugin, Plugins
from nanobot.triggers.base import Trigger


def opened(tables: Mapping[str, TriggerSettings], plugins: Plugins) -> dict[str, Trigger]:
    """The triggers of the tables `[triggers.NAME]` that are on, by name: the entry point of a
    table's type is called with its name and its own keys. One that is broken in itself is left out.

    Raises ConfigError naming the types there are, and for settings that a trigger refuses.
    """
    triggers = {}
    for name, table in tables.items():
        if table.enabled:
            try:
                triggers[name] = open_trigger(name, table, plugins)
            except PluginBroken:
                continue
    return triggers


def open_trigger(name: str, table: TriggerSettings, plugins: Plugins) -> Trigger:
    """The trigger of one table. Raises ConfigError, and PluginBroken for one that is broken."""
    types = plugins.names(TRIGGERS)
    if table.type not in types:
        raise ConfigError(
            f"triggers.{name}.type: there is no trigger type {table.type!r}; "
            f"installed are {', '.join(sorted(types)) or 'none'}"
        )
    refused: list[ConfigError] = []

    def use(plugin: LoadedPlugin[Any]) -> Trigger | None:
        try:
            trigger = plugin.what(name, table.settings)
        except ConfigError as error:
            refused.append(error)
            return None
        if not isinstance(trigger, Trigger):
            kind = type(trigger).__name__
            raise PluginBroken(f"it opens a {kind}, which has no run of nanobot.triggers.base")
        return trigger

    trigger = plugins.one(TRIGGERS, table.type, use).what
    if trigger is None:
        raise refused[0]
    return trigger


def survey(plugins: Plugins) -> None:
    """Load every one of them, so that `plugins` knows which are broken; none is opened."""

    def use(plugin: LoadedPlugin[Any]) -> None:
        if not callable(plugin.what):
            kind = type(plugin.what).__name__
            raise PluginBroken(f"it gives a {kind}, not a function that opens a trigger")

    plugins.names(TRIGGERS)
    plugins.each(TRIGGERS, use)
