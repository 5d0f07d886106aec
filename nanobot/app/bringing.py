"""What plugins bring, taken into the parts of a gateway."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from nanobot.agent.tasks.builtin import builtin_types
from nanobot.agent.tasks.types import AnyRunType, RunType, installed
from nanobot.agent.tasks.types import trouble as trouble_of_type
from nanobot.app.plugged import Plugged
from nanobot.app.trigger_plans import plan_of
from nanobot.errors import PluginBroken, UsageError
from nanobot.messages import Origin
from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.operation import Operation
from nanobot.seam.entry_points import Plugins
from nanobot.seam.installed import FoundPlugin
from nanobot.session.journal import Journal
from nanobot.store.unit import EndHook, StoreContext
from nanobot.tools.plugins import offered
from nanobot.tools.registry import BUILT_IN, ToolRegistry
from nanobot.triggers.base import Publisher, Trigger
from nanobot.triggers.cron.service import CronService
from nanobot.workspace.confinement import ConfinedFiles


def listed(given: Any, kind: type[Any], what: str) -> list[Any]:
    """What a function gave: one thing, several, or None for nothing. Raises PluginBroken."""
    if given is None:
        return []
    things = list(given) if isinstance(given, Iterable) else [given]
    for thing in things:
        if not isinstance(thing, kind):
            raise PluginBroken(f"it gives a {type(thing).__name__}, not {what}")
    return things


def register_plugged(registry: ToolRegistry, plugged: Plugged) -> None:
    """Offer the tools of plugins; those of one that is broken, or whose name is taken, are left out
    together."""

    def use(found: FoundPlugin, given: Any) -> None:
        registered: list[str] = []
        source = f"plugin {found.package}" if found.package else BUILT_IN
        try:
            for tool in offered(given or [], own=not found.package):
                registry.register(tool, source=source)
                registered.append(tool.name)
        except UsageError:
            for name in registered:
                registry.unregister(name)
            raise

    plugged.each("tools", use)


def operations_of(plugged: Plugged) -> list[Operation]:
    """All operations: those of the core, then those of the plugins that are on."""
    every = list(OPERATIONS)

    def use(_: FoundPlugin, given: Any) -> None:
        new = listed(given, Operation, "an operation")
        names = {name for known in every for name in (known.name, known.alias, known.command)}
        for each in new:
            if each.name in names:
                raise PluginBroken(f"the name {each.name} is taken")
            each.check_annotations()
        every.extend(new)

    plugged.each("operations", use)
    return every


def all_run_types(
    journal: Journal, files: ConfinedFiles, plugins: Plugins, plugged: Plugged
) -> list[AnyRunType]:
    """The kinds of background work: our own, those of packages, and those that plugins bring."""
    types = builtin_types(journal, files)
    types += installed(plugins, [kind.name for kind in types])
    names = {kind.name for kind in types}

    def use(_: FoundPlugin, given: Any) -> None:
        new = listed(given, RunType, "a nanobot.agent.tasks.types.RunType")
        for kind in new:
            if wrong := trouble_of_type(kind):
                raise PluginBroken(f"the run type {str(kind.name)[:64]!r} cannot be used: {wrong}")
            if kind.name in names:
                raise PluginBroken(f"the name {kind.name} is taken")
            names.add(kind.name)
        types.extend(new)

    plugged.each("run_types", use)
    return types


def triggers_of_plugins(
    plugged: Plugged, cron: CronService, zone: str, taken: Collection[str]
) -> dict[str, tuple[Trigger, Publisher]]:
    """The triggers that plugins bring, by name. What one of a package says counts as content from
    outside: nobody knows where it has its words from."""
    triggers: dict[str, tuple[Trigger, Publisher]] = {}

    def use(found: FoundPlugin, given: Any) -> None:
        new: dict[str, tuple[Trigger, Publisher]] = {}
        for name, what in dict(given or {}).items():
            trigger, to = what if isinstance(what, tuple) else (what, "")
            if not isinstance(trigger, Trigger):
                kind = type(trigger).__name__
                raise PluginBroken(f"it gives a {kind}, which has no run of nanobot.triggers.base")
            if not isinstance(to, str):
                new[name] = (trigger, to)
                continue
            plan = plan_of(f"trigger:{name}", to, Origin.EVENT, zone)
            plan = msgspec.structs.replace(plan, tainted=bool(found.package))
            new[name] = (trigger, cron.publisher(plan))
        if clash := sorted({*taken, *triggers} & set(new)):
            raise PluginBroken(f"the name {clash[0]} is taken")
        triggers.update(new)

    plugged.each("triggers", use)
    return triggers


def end_hooks(plugged: Plugged, context: StoreContext) -> list[EndHook]:
    """What takes part in the transactions that end runs."""

    def use(_: FoundPlugin, given: Any) -> EndHook:
        if not callable(getattr(given, "ends", None)):
            raise PluginBroken(f"it gives a {type(given).__name__}, which has no function `ends`")
        hook: EndHook = given
        return hook

    return plugged.each("store_hooks", use, {StoreContext: context})
