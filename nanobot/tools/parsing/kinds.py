"""The import path of the kinds of files that plugins read, as functions of plugins request them."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "", "nanobot.plugins.common.file_readers")
