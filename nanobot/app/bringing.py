"""Adds the contributions of plugins to the parts of a gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from nanobot.app.ledgers import ledger_of
from nanobot.app.plugged import Plugged
from nanobot.boundary import boundary
from nanobot.bus.core import Bus, Subscription
from nanobot.channels.companions import ChannelParts, Companion
from nanobot.channels.loading import whole
from nanobot.config.loader import Config
from nanobot.config.plugin_tables import set_keys, switched
from nanobot.config.settings.tools import PolicySettings, RuleSettings
from nanobot.errors import ConfigError, PluginBroken
from nanobot.messages import TERMINAL, WEB, EventKind, RunEvent
from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.home import Finding
from nanobot.operations.operation import Operation
from nanobot.ports import Channel
from nanobot.seam.given import able, functions, listed, of_kind, unable
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.installed import installed as installed_plugins
from nanobot.seam.plugin import revision
from nanobot.store.database.database import Database
from nanobot.store.hooks import ContainedHooks
from nanobot.store.plugin_tables import migrate_plugin
from nanobot.store.unit import (
    ArrivalHook,
    EndHook,
    EraseHook,
    HumanWaits,
    NotificationLimiter,
    StoreContext,
    StoreHooks,
    TaskEnds,
)
from nanobot.tools.judge import judge_by
from nanobot.tools.plugins import offered, register_together
from nanobot.tools.registry import BUILT_IN, ToolRegistry
from nanobot.tools.stand_in import ContainedStandIn, StandIn


def unfit(plugged: Plugged) -> list[Finding]:
    """What of the settings of plugins does not fit the rest of the configuration. What is broken
    hinders a start."""
    findings: list[Finding] = []
    for found in plugged.on.values():
        if found.plugin.fits is None:
            continue
        with plugged.failing(found, "fits"):
            try:
                given = plugged.call(found, "fits")
            except ConfigError as error:
                given = Finding(about="configuration", level="broken", text=str(error))
            findings += listed(given, Finding)
    return list(dict.fromkeys(findings))  # of a key that several plugins read, one


def unused(config: Config) -> Iterator[Finding]:
    """What people set of plugins that are off: keys that they add to tables of the core, and what
    people added by name to their tables. It does nothing."""
    state = switched(config)
    used = {key for each in state.on.values() for key in each.shared_keys}
    for plugin, why in state.off.items():
        found = installed_plugins().found[plugin]
        tables = config.tables.get(found.table) if found.plugin.named else None
        useless = [
            f"{found.table}.{name}"
            for name, table in (tables or {}).items()
            if getattr(table, "enabled", True)
        ]
        useless += [key for key in set_keys(found, config) if key not in used]
        for key in useless:
            text = f"{key} does nothing without the plugin {plugin}. {why}"
            yield Finding(about="plugins", level="warning", text=text)


_CONTAINED = (EndHook, ArrivalHook, EraseHook, NotificationLimiter)
_HOOKS: tuple[type[Any], ...] = (*_CONTAINED, TaskEnds, HumanWaits)
"""What may take part in transactions. If `_CONTAINED` ones of a package fail, the transaction
continues without their changes."""


def offer_objects(plugged: Plugged, field: str) -> None:
    """Offer the objects that this field of plugins gives to all their functions and to operations.
    If the field is not `objects`, others rely on them: they are there also of nanobot's own plugins
    that are off. None of it takes the place of what is offered already. Raises ConfigError of
    nanobot's own ones."""

    def use(_: FoundPlugin, given: Any) -> None:
        things = dict(given or {})
        for kind, thing in things.items():
            name = getattr(kind, "__name__", str(kind))
            if plugged.offers.has(kind):
                raise PluginBroken(f"{name} is offered already")
            if getattr(kind, "_is_protocol", False):  # who asks for it calls all its functions
                able(thing, kind)
            elif isinstance(kind, type):
                of_kind(thing, kind)
        plugged.offers.add(things)

    for name, found in installed_plugins().found.items():
        relied = field != "objects" and not found.package
        if getattr(found.plugin, field) is not None and (relied or name in plugged.on):
            with plugged.failing(found, field, *((ConfigError,) if relied else ())):
                use(found, plugged.call(found, field))


def register_plugged(registry: ToolRegistry, plugged: Plugged) -> None:
    """Register the tools of plugins. If one of a plugin's tools is broken or its name is taken, all
    of that plugin's tools are left out."""

    def use(found: FoundPlugin, given: Any) -> None:
        source = f"plugin {found.package}" if found.package else BUILT_IN
        register_together(registry, offered(given or [], own=not found.package), source)

    plugged.each("tools", use)


def set_stand_in(registry: ToolRegistry, plugged: Plugged) -> None:
    """Set what answers calls instead of the tools, if a plugin brings that. Only one may."""
    several = "another plugin answers calls instead of the tools already"
    brought = plugged.only("stand_in", StandIn, several)
    if brought is not None:
        found, given = brought
        registry.stand_in = ContainedStandIn(found.name, given, registry.tool)


def operations_of(plugged: Plugged) -> list[Operation]:
    """All operations: those of the core, then those of the plugins that are on."""
    every = list(OPERATIONS)

    def use(found: FoundPlugin, given: Any) -> None:
        new = listed(given, Operation)
        names = {name for known in every for name in (known.name, known.alias, known.command)}
        for each in new:
            if each.name in names:
                raise PluginBroken(f"the name {each.name} is taken")
            if found.package:  # a test reads those of the built-in ones
                each.check_annotations()
        every.extend(new)

    plugged.each("operations", use)
    return every


def name_idle_triggers(plugged: Plugged) -> None:
    """Name each plugin that has triggers, where nothing runs them."""
    for found in plugged.on.values():
        if found.plugin.triggers is not None and "jobs" not in plugged.on:
            with plugged.failing(found, "triggers"):
                raise PluginBroken(
                    "its triggers need the plugin jobs, which is not on here: "
                    "`nanobot plugins on jobs` switches it on"
                )


def brought_hooks(plugged: Plugged, context: StoreContext) -> StoreHooks:
    """What of plugins takes part in transactions: where models are called, where runs end, where
    messages arrive, where conversations are removed, where something is said unasked, where
    background runs begin and end, and where runs wait for people. Raises PluginBroken if the limits
    of model calls fail."""
    brought: dict[type[Any], list[Any]] = {port: [] for port in _HOOKS}

    def use(found: FoundPlugin, given: Any) -> None:
        able_to = [port for port in _HOOKS if not unable(given, port)]
        if not able_to:
            other = type(given).__name__
            raise PluginBroken(
                f"it gives a {other}, which has no function `ends`, `arrives` or `erases`"
            )
        if NotificationLimiter in able_to and brought[NotificationLimiter]:
            raise PluginBroken("another plugin already limits notifications")
        if TaskEnds in able_to and brought[TaskEnds]:
            raise PluginBroken("another plugin already does background runs")
        if HumanWaits in able_to and brought[HumanWaits]:
            raise PluginBroken("another plugin already asks people")
        failing = partial(plugged.failing, found, "store_hooks")
        contained = ContainedHooks(found.name, given, failing) if found.package else given
        for port in able_to:
            brought[port].append(contained if port in _CONTAINED else given)

    plugged.each("store_hooks", use, {StoreContext: context})
    return StoreHooks(
        ledger=ledger_of(plugged, context),
        tasks=next(iter(brought[TaskEnds]), TaskEnds()),
        waits=next(iter(brought[HumanWaits]), None),
        ends=tuple(brought[EndHook]),
        arrives=tuple(brought[ArrivalHook]),
        erases=tuple(brought[EraseHook]),
        notifications=next(iter(brought[NotificationLimiter]), NotificationLimiter()),
    )


async def migrate_plugins(plugged: Plugged, database: Database) -> None:
    """Migrate the tables of plugins. A plugin whose migration fails is left out entirely."""
    for found in list(plugged.on.values()):
        if steps := found.plugin.migrations:
            with plugged.failing(found, "migrations"):
                await migrate_plugin(database, found.name, [revision(step) for step in steps])
            if "migrations" in plugged.failures.get(found.name, {}):
                plugged.drop(found.name)


def companions_of(plugged: Plugged, parts: ChannelParts) -> list[Companion]:
    """What plugins do for a channel besides receiving and delivering."""
    brought = plugged.listed("companions", Companion, {ChannelParts: parts})
    return [companion for _, companion in brought]


def channels_of(plugged: Plugged) -> dict[str, Channel]:
    """The channels that plugins have without a table of the configuration, by name."""
    channels: dict[str, Channel] = {}
    configured = plugged.offers.get(Config).channels

    def use(found: FoundPlugin, given: Any) -> None:
        new = {name: whole(channel) for name, channel in dict(given or {}).items()}
        # People of the terminal and of the page are owners.
        reserved = (TERMINAL, WEB) if found.package else ()
        if taken := sorted(new.keys() & {*reserved, *configured, *channels}):
            raise PluginBroken(f"the name {taken[0]} is taken")
        channels.update(new)

    plugged.each("channels", use)
    return channels


def rules_of(plugged: Plugged) -> list[RuleSettings]:
    """The policy rules that plugins add."""
    rules: list[RuleSettings] = []

    def use(_: FoundPlugin, given: Any) -> None:
        new = listed(given, RuleSettings)
        judge_by(PolicySettings(rules=tuple(new)))  # raises if they are invalid
        rules.extend(new)

    plugged.each("policy", use)
    return rules


def subscribe_plugins(plugged: Plugged, bus: Bus) -> None:
    """Call the functions of plugins with each event of a run; their Subscriptions get those that
    they choose."""

    def use(found: FoundPlugin, given: Any) -> None:
        if isinstance(given, Subscription):
            bus.watch(given)
            return
        for function in functions(given):
            bus.watch(_Told(found.name, function))

    plugged.each("events", use)


class _Told(Subscription):
    """Calls a function with each event. The function must not wait."""

    def __init__(self, name: str, function: Callable[[RunEvent], object]) -> None:
        super().__init__(None, frozenset(EventKind))
        self._name = name
        self._function = function

    def offer(self, event: RunEvent) -> None:
        with boundary(f"events of the plugin {self._name}"):
            self._function(event)
