"""Labels of files: whose content each file of the workspace has, and how private it is."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="file_labels",
    summary="Lists the files with content from outside, and has owners trust them.",
    texts=Path(__file__).parent,
    objects="nanobot.plugins.file_labels.service:objects",
    operations="nanobot.plugins.file_labels.operations:operations",
    provides={"file_labels": "nanobot.plugins.file_labels.service:file_labels"},
)
