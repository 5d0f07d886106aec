"""Loads channel adapters by their entry points, and gives their intakes the operations."""

from __future__ import annotations

from typing import Any

from nanobot.channels.live_only import LiveOnly
from nanobot.channels.reception import InOrder, Reception
from nanobot.config.loader import ChannelSettings
from nanobot.errors import ConfigError, PluginBroken
from nanobot.operations.dispatcher import Dispatcher
from nanobot.ports import Capabilities, Channel
from nanobot.seam.entry_points import CHANNELS, Plugins
from nanobot.seam.given import unable


def reception(operations: Dispatcher) -> Reception:
    """The parts of a gateway that its intakes ask."""
    engine = operations.engine
    return Reception(
        commands=operations,
        chats=engine.records.chats,
        partial=engine.partial,
        now=engine.now,
        in_order=operations.offered(InOrder) or LiveOnly,
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
    return plugins.opened(CHANNELS, settings.type, lambda opener: whole(opener(name, keys)))


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


def whole(opened: Any) -> Channel:
    """The thing itself. Raises PluginBroken, which names the missing parts of
    nanobot.ports.Channel."""
    lacking = unable(opened, Channel)
    if not isinstance(getattr(opened, "capabilities", None), Capabilities):
        lacking.append("capabilities")
    if lacking:
        kind = type(opened).__name__
        raise PluginBroken(f"it opens a {kind}, which lacks {', '.join(lacking)} of a Channel")
    channel: Channel = opened
    return channel
