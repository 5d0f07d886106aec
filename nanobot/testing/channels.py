"""The import path of the checks of channels, for tests of authors."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "kit", "nanobot.plugins.kit.channels")
