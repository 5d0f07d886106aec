"""The documented import path of the MessageSearch, which built-in plugins share."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "", "nanobot.plugins.common.message_search")
