"""Pairing: strangers ask to be let in, and an owner decides."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="pairing",
    summary="Strangers can ask for access, and owners let them in.",
    texts=Path(__file__).parent,
    tables=("nanobot.plugins.common.store.access_tables",),
    objects="nanobot.plugins.pairing.service:objects",
    operations="nanobot.plugins.pairing.operations:operations",
    page="nanobot.plugins.pairing.view:views",
    groups={"pair": "People with access, and requests for it."},
    provides={"owned_channels": "nanobot.plugins.pairing.store.owners:owned_channels"},
)
