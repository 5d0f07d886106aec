"""The reader of a gateway: its tool, and the filter that keeps documents apart for it."""

from __future__ import annotations

from nanobot.plugins.reader.reading import Keeping, KeepingMessages, Reader
from nanobot.plugins.reader.settings import ReaderSettings
from nanobot.ports import Clock
from nanobot.providers.base import Models
from nanobot.tools.base import AnyTool
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.received import Received


def tools(settings: ReaderSettings, models: Models, blobs: Blobs) -> list[AnyTool]:
    """The tool read_document."""
    return [Reader(settings, models, blobs).tool()]


def arrivals(settings: ReaderSettings, received: Received, clock: Clock) -> KeepingMessages:
    """The same for messages."""
    return KeepingMessages(settings, received, clock)


def results(settings: ReaderSettings) -> Keeping:
    """The filter of results."""
    return Keeping(settings)
