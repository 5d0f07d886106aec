"""The ways in which the chats of a channel show runs, as its platform and settings allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nanobot.channels.showing import Showing, ShowingParts
from nanobot.plugins.progress.drafts import Drafts
from nanobot.plugins.progress.marks import Marks
from nanobot.plugins.progress.previews import Previews
from nanobot.ports import Drafting, Editing, Reacting


def showing(parts: ShowingParts) -> Sequence[Showing]:
    """See nanobot.channels.showing.SHOWING."""
    return tuple(_ways(parts))


def _ways(parts: ShowingParts) -> Iterator[Showing]:
    channel = parts.channel
    if parts.preview and isinstance(channel, Drafting):
        yield Drafts(parts)
    if parts.preview and isinstance(channel, Editing):
        yield Previews(parts)
    if parts.marks and isinstance(channel, Reacting):
        yield Marks(channel, parts)
