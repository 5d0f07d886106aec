"""The promised import path of the port to what counts the model calls, which plugins share."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "", "nanobot.plugins.common.spending")
