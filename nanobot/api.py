"""The promised import path of the Agent, and of what its runs take and give."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "library", "nanobot.plugins.library.api")
