"""Files: people look through the workspace and read and save what is in it."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="files",
    summary="Shows people the files of the workspace.",
    texts=Path(__file__).parent,
    objects="nanobot.plugins.files.service:objects",
    operations="nanobot.plugins.files.operations:operations",
    paths=("/api/workspace",),
    groups={"files": "The files of the workspace."},
)
