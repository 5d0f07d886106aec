"""Proof: exports of logs that prove without a store that nothing in them was changed."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="proof",
    summary="Verify logs, and export them with the proof of their chains.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.proof.commands:operations",
    routes="nanobot.plugins.proof.routes:routes",
    groups={"audit": "Proof that no one changed the log."},
)
