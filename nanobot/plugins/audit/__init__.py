"""The security audit: what attackers of each kind could reach, and which rule decides a call."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="audit",
    summary="Shows what attackers could reach, and which rule decides about a call.",
    after=("approvals", "pairing"),
    texts=Path(__file__).parent,
    objects="nanobot.plugins.audit.service:objects",
    operations="nanobot.plugins.audit.operations:operations",
    groups={
        "policy": "What the model may do, and why.",
        "security": "What attackers could reach, and files with content from outside.",
    },
    page="nanobot.plugins.audit.view:views",
)
