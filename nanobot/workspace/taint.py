"""The import path of the labels of files, as functions of plugins request them."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "", "nanobot.plugins.common.file_labels.tainted_files")
