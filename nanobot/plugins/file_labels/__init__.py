"""Labels of files: whose content each file of the workspace has, and how private it is."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="file_labels",
    summary="Lists the files with content from outside, and has owners trust them.",
    texts=Path(__file__).parent,
    tables=("nanobot.plugins.file_labels.tables",),
    always_objects="nanobot.plugins.file_labels.service:always_objects",
    operations="nanobot.plugins.file_labels.operations:operations",
)
