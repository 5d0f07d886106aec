"""The findings of doctor about packages and plugins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import get_args

from nanobot.config.loader import Config
from nanobot.config.plugin_tables import config_file, switched
from nanobot.operations.home import Finding
from nanobot.plugins.common.approvals import UNDECIDED
from nanobot.plugins.common.erasing import UNERASED
from nanobot.plugins.common.plugin_checks import checked
from nanobot.plugins.common.runs.background_runs import UNENDED_TASKS
from nanobot.plugins.common.runs.run_type_names import RunType
from nanobot.plugins.common.runs.run_types import installed as run_types_of
from nanobot.plugins.setup.new_channel import check_opener
from nanobot.seam.entry_points import (
    CHANNELS,
    PROVIDERS,
    TRIGGERS,
    BrokenPlugin,
    Plugins,
)
from nanobot.seam.installed import installed, provided
from nanobot.store.servers import url_of
from nanobot.tools.plugins import register_installed
from nanobot.tools.registry import ToolRegistry

_READER = "quarantine"
"""The plugin that reads every row."""
_BACKGROUND = "tasks"
"""The plugin that does background runs."""
_ASKING = "approvals"
"""The plugin that asks people, and takes their decisions."""
_ERASING = "erasure"
"""The plugin that erases what people delete."""
_SHOWN = 5
"""How many erasures are named."""


def broken(plugins: Plugins | None = None) -> list[BrokenPlugin]:
    """The extensions that a gateway leaves out. This loads the packages' code."""
    loader = plugins or Plugins()
    register_installed(ToolRegistry(), loader)
    run_types_of(loader, get_args(RunType))
    survey(loader, CHANNELS, "a channel", own=False)
    survey(loader, PROVIDERS, "a provider")
    survey(loader, TRIGGERS, "a trigger")
    config_file()  # leaves out plugins without a usable table
    return [*loader.left_out, *installed().left_out]


def survey(loader: Plugins, group: str, opens: str, *, own: bool = True) -> None:
    """Load every one of a group without calling it, so that `left_out` lists broken ones.
    `opens`: what these functions open."""
    loader.names(group)
    loader.each(group, lambda loaded: check_opener(loaded.what, opens), own=own)


async def plugins(config: Config, *, rows: bool = False) -> AsyncIterator[Finding]:
    """Extensions that are left out, and the findings of plugins about themselves. `rows`: of every
    row of the store, too.
    """
    for left in broken():
        remedy = "Ask its author, or remove the package; all else works without it"
        yield Finding(about="plugins", level="warning", text=str(left), remedy=remedy)
    plugins_here = switched(config)
    if "progress" not in plugins_here.on:
        for name in (name for name, channel in config.channels.items() if channel.marks):
            text = f"channels.{name}.marks does nothing: it needs the plugin progress"
            remedy = "`nanobot plugins on progress`, then restart"
            yield Finding(about="plugins", level="warning", text=text, remedy=remedy)
    why = plugins_here.off.get(_READER, "")
    if rows and why:
        text = f"The rows of the store are not read. This belongs to the plugin {_READER}. {why}"
        yield Finding(about="rows", level="warning", text=text)
    async for finding in checked(config, rows=rows):
        yield finding


def unattended(config: Config, *, served: bool) -> Iterator[Finding]:
    """What waits because the plugin for it is off, in a store that can be read: background runs,
    approvals, and erasures; these also if no gateway has them done (`served`)."""
    off = switched(config).off
    why, count = off.get(_BACKGROUND), provided(UNENDED_TASKS)
    background = count(url_of(config)) if why and count is not None else 0
    if background:
        runs = "1 background run waits" if background == 1 else f"{background} background runs wait"
        text = f"{runs} for the plugin {_BACKGROUND}. {why}"
        yield Finding(about="runs", level="warning", text=text)
    why, count = off.get(_ASKING), provided(UNDECIDED)
    asked = count(url_of(config)) if why and count is not None else 0
    if asked:
        waits = "1 approval waits" if asked == 1 else f"{asked} approvals wait"
        text = f"{waits} for the plugin {_ASKING}. {why}"
        yield Finding(about="approvals", level="warning", text=text)
    why, listed = off.get(_ERASING, ""), provided(UNERASED)
    left = listed(url_of(config)) if (why or not served) and listed is not None else []
    if left:
        shown = ", ".join(left[:_SHOWN]) + (" ..." if len(left) > _SHOWN else "")
        text = f"not erased yet: {shown}"
        remedy = why or "The next start of the gateway erases it"
        yield Finding(about="erasures", level="warning", text=text, remedy=remedy)
