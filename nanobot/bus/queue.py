"""The promised import path of the MessageBus, which is in the plugin `library`."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "library", "nanobot.plugins.library.message_bus")
