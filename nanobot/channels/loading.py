"""Channel adapters: plugin by their entry points, and what they are told of our commands."""

from __future__ import annotations

import sys
from typing import Any

from nanobot.config.loader import ChannelSettings
from nanobot.errors import ConfigError, PluginBroken
from nanobot.messages import Role
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.translations import in_other_languages
from nanobot.ports import Capabilities, Channel, MenuCommand, Setup
from nanobot.seam.entry_points import CHANNELS, LoadedPlugin, Plugins, check_opener

_METHODS = ("run", "render", "send", "find", "typing", "close")


def menu(operations: Dispatcher, role: Role) -> tuple[MenuCommand, ...]:
    """What somebody in this role may write in a chat, for a platform's menu of commands."""
    return tuple(
        MenuCommand(operation.name, operation.help, operation.usage, in_other_languages(operation))
        for operation in operations.listed
        if operation.listed and operation.may(role) and " " not in operation.name
    )


def open_channel(name: str, settings: ChannelSettings, plugins: Plugins | None = None) -> Channel:
    """The adapter of a configured channel, plugin by entry point `nanobot.channels`.

    Raises ConfigError naming the known types, and for settings that the adapter refuses;
    PluginBroken for an adapter that is broken in itself, whatever it does.
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
    """What adapters have to know of the keys that all channels have: who is named there, to follow
    them into a room (who may speak is not theirs to decide), and that links show previews."""
    shared: dict[str, object] = {
        "owners": settings.owners,
        "members": settings.members,
        "guests": settings.guests,
        "pairing": settings.pairing,
    }
    # Not unless it is wanted: adapters from before refuse keys that they do not know.
    return shared | ({"link_previews": True} if settings.link_previews else {})


def setup_of(kind: str, plugins: Plugins | None = None) -> Setup:
    """What has to be known before a channel of that type can be opened; one without questions for
    adapters that do not say. Raises PluginBroken, and KeyError for a type that is not there."""

    def read(plugin: LoadedPlugin[Any]) -> Setup:
        check_opener(plugin.what, "a channel")
        setup = getattr(sys.modules.get(plugin.what.__module__), "SETUP", None)
        if setup is not None and not isinstance(setup, Setup):
            raise PluginBroken(f"its SETUP is a {type(setup).__name__}, not a nanobot.ports.Setup")
        return setup or Setup(title=kind, steps="Its author says which keys its table needs.")

    return (plugins or Plugins()).one(CHANNELS, kind, read).what


def _whole(opened: Any) -> Channel:
    """Raises PluginBroken naming what it lacks of nanobot.ports.Channel."""
    lacking = [name for name in _METHODS if not callable(getattr(opened, name, None))]
    if not isinstance(getattr(opened, "capabilities", None), Capabilities):
        lacking.append("capabilities")
    if lacking:
        kind = type(opened).__name__
        raise PluginBroken(f"it opens a {kind}, which lacks {', '.join(lacking)} of a Channel")
    channel: Channel = opened
    return channel
