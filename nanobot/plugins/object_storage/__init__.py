"""Files of messages in an S3-compatible store, for processes without a shared folder."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="object_storage",
    summary="Files of messages in an S3-compatible store.",
    texts=Path(__file__).parent,
    blobs={"s3": "nanobot.plugins.object_storage.s3:ObjectBlobs"},
)
