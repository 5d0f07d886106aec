"""Loads channel adapters by their entry points, and gives their hosts the operations: as menus of
commands, and as what an intake asks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nanobot.channels.catching_up import CatchingUp
from nanobot.channels.reception import Reception
from nanobot.config.loader import ChannelSettings
from nanobot.errors import ConfigError, PluginBroken
from nanobot.messages import Role
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Operation
from nanobot.ports import Capabilities, Channel, MenuCommand, Setup
from nanobot.seam.entry_points import CHANNELS, LoadedPlugin, Plugins, check_opener
from nanobot.seam.faces import Interface
from nanobot.seam.installed import provided

MENU_TEXTS: Interface[Callable[[Operation], tuple[tuple[str, str], ...]]] = Interface("menu_texts")
"""The help of an operation behind each language that there is a translation into."""
_METHODS = ("run", "render", "send", "find", "typing", "close")


def menu(operations: Dispatcher, role: Role) -> tuple[MenuCommand, ...]:
    """The commands for a person with this role, for a platform's menu: first the one that explains
    the others."""
    texts = provided(MENU_TEXTS) or (lambda _: ())
    return tuple(
        MenuCommand(operation.name, operation.help, operation.usage, texts(operation))
        for operation in sorted(operations.listed, key=lambda each: each.name != "help")
        if operation.listed and operation.may(role) and " " not in operation.name
    )


def reception(operations: Dispatcher) -> Reception:
    """The parts of a gateway that its intakes ask."""
    engine = operations.engine
    return Reception(
        commands=operations,
        records=engine.records,
        partial=engine.partial,
        now=engine.now,
        in_order=CatchingUp,
    )


def open_channel(name: str, settings: ChannelSettings, plugins: Plugins | None = None) -> Channel:
    """Create the adapter of a configured channel, found by entry point `nanobot.channels`.

    Raises ConfigError, which names the known types, for an unknown type or settings that the
    adapter refuses, and PluginBroken for any failure inside the adapter.
    """
    plugins = plugins or Plugins()
    types = plugins.names(CHANNELS)
    if settings.type not in types:
        raise ConfigError(
            f"channels.{name}.type: there is no channel type {settings.type!r}; "
            f"installed are {', '.join(sorted(types)) or 'none'}"
        )
    keys = {**settings.settings, **_shared(settings)}
    return plugins.opened(CHANNELS, settings.type, lambda opener: _whole(opener(name, keys)))


def _shared(settings: ChannelSettings) -> dict[str, object]:
    """Keys of all channels that adapters need: the people named there (the adapter follows them
    into rooms but does not decide who may speak), and whether links show previews."""
    shared: dict[str, object] = {
        "owners": settings.owners,
        "members": settings.members,
        "guests": settings.guests,
        "pairing": settings.pairing,
    }
    # Passed only if set: older adapters refuse unknown keys.
    return shared | ({"link_previews": True} if settings.link_previews else {})


def setup_of(kind: str, plugins: Plugins | None = None) -> Setup:
    """What to ask before a channel of that type can be opened; without questions if the adapter
    defines none. Raises PluginBroken, and KeyError for an unknown type."""

    def read(plugin: LoadedPlugin[Any]) -> Setup:
        check_opener(plugin.what, "a channel")
        setup = getattr(sys.modules.get(plugin.what.__module__), "SETUP", None)
        if setup is not None and not isinstance(setup, Setup):
            raise PluginBroken(f"its SETUP is a {type(setup).__name__}, not a nanobot.ports.Setup")
        return setup or Setup(title=kind, steps="Its author says which keys its table needs.")

    return (plugins or Plugins()).one(CHANNELS, kind, read).what


def _whole(opened: Any) -> Channel:
    """Raises PluginBroken, which names the missing parts of nanobot.ports.Channel."""
    lacking = [name for name in _METHODS if not callable(getattr(opened, name, None))]
    if not isinstance(getattr(opened, "capabilities", None), Capabilities):
        lacking.append("capabilities")
    if lacking:
        kind = type(opened).__name__
        raise PluginBroken(f"it opens a {kind}, which lacks {', '.join(lacking)} of a Channel")
    channel: Channel = opened
    return channel
