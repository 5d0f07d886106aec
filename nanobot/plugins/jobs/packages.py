"""Triggers from other packages, found through the entry point group `nanobot.triggers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.errors import ConfigError, PluginBroken
from nanobot.plugins.common.jobs.triggers import Trigger
from nanobot.plugins.jobs.settings import TriggerSettings
from nanobot.seam.entry_points import TRIGGERS, Plugins


def opened(tables: Mapping[str, TriggerSettings], plugins: Plugins) -> dict[str, Trigger]:
    """The enabled triggers of the tables `[triggers.NAME]`, by name. The entry point of a table's
    type is called with its name and its own keys. A broken trigger is skipped.

    Raises ConfigError that lists the known types, and for settings that a trigger rejects.
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
    """The trigger of one table. Raises ConfigError, or PluginBroken for a broken trigger."""
    types = plugins.names(TRIGGERS)
    if table.type not in types:
        raise ConfigError(
            f"triggers.{name}.type: there is no trigger type {table.type!r}; "
            f"installed are {', '.join(sorted(types)) or 'none'}"
        )

    def call(opener: Any) -> Trigger:
        trigger = opener(name, table.settings)
        if not isinstance(trigger, Trigger):
            kind = type(trigger).__name__
            raise PluginBroken(f"it opens a {kind}, which has no run of nanobot.triggers.base")
        return trigger

    return plugins.opened(TRIGGERS, table.type, call)
