"""The documented import path of the port to files for people, which built-in plugins share."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "", "nanobot.plugins.common.shown_files")
