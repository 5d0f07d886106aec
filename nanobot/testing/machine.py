"""The import path of time and ids under control, for tests of authors."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "kit", "nanobot.plugins.kit.machine")
