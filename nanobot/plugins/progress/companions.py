"""The ways in which the chats of a channel show runs, as its platform and settings allow."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.bus.core import Bus
from nanobot.channels.companions import ChannelParts, Companion
from nanobot.plugins.progress.activity import Activity
from nanobot.plugins.progress.drafts import Drafts
from nanobot.plugins.progress.marks import Marks
from nanobot.plugins.progress.previews import Previews
from nanobot.plugins.progress.typing import Typing
from nanobot.ports import Clock, Drafting, Editing, Reacting
from nanobot.session.journal import Journal


def companions(
    parts: ChannelParts, bus: Bus, clock: Clock, journal: Journal
) -> Sequence[Companion]:
    """See `Plugin.companions`."""
    channel, settings = parts.channel, parts.settings
    activity = Activity(parts.name, bus, clock)
    ways = activity.shown_by
    if channel.capabilities.typing:
        ways.append(Typing(parts, activity, clock))
    if settings.preview and isinstance(channel, Drafting):
        ways.append(Drafts(parts, activity, clock, bus))
    if settings.preview and isinstance(channel, Editing):
        ways.append(Previews(parts, activity, clock, journal))
    if settings.marks and isinstance(channel, Reacting):
        ways.append(Marks(channel, parts))
    return (activity, *ways) if ways else ()
