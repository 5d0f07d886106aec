"""Search: finds what was said in conversations, by its words."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="search",
    summary="Full-text search in conversations.",
    texts=Path(__file__).parent,
    tables=("nanobot.plugins.common.store.search_tables",),
    objects="nanobot.plugins.search.service:objects",
    operations="nanobot.plugins.search.operations:operations",
    page="nanobot.plugins.search.view:views",
    start="nanobot.plugins.search.service:start",
)
