"""The promised import path of the ContextBuilder."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "library", "nanobot.plugins.library.context_builder")
