"""Context: what a conversation's model would be sent now."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="context",
    summary="Shows what models would receive, and their tools.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.context.operations:operations",
    groups={
        "context": "What the model is shown.",
        "tools": "Tools of the model, and its calls.",
    },
)
