"""Channel adapters: found by their entry points, and what they are told of our commands."""

from __future__ import annotations

from importlib.metadata import entry_points

from nanobot.bus.events import Role
from nanobot.config import ChannelSettings
from nanobot.errors import ConfigError
from nanobot.operations import Operations
from nanobot.ports import Channel, Command


def menu(operations: Operations, role: Role) -> tuple[Command, ...]:
    """What somebody in this role may write in a chat, for a platform's menu of commands."""
    return tuple(
        Command(one.name, one.help, one.usage)
        for one in operations.listed
        if one.may(role) and " " not in one.name
    )


def open_channel(name: str, settings: ChannelSettings) -> Channel:
    """The adapter of a configured channel, found by entry point `nanobot.channels`.

    Raises ConfigError naming the known types.
    """
    known = {point.name: point for point in entry_points(group="nanobot.channels")}
    point = known.get(settings.type)
    if point is None:
        raise ConfigError(
            f"channels.{name}.type: there is no channel type {settings.type!r}; "
            f"installed are {', '.join(sorted(known)) or 'none'}"
        )
    opened: Channel = point.load()(name, settings.settings)
    return opened
