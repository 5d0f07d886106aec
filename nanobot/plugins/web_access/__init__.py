"""Web access: named tokens for programs and people, and browsers that log in."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="web_access",
    summary="Named tokens, and browsers that log in.",
    requires=("http",),
    texts=Path(__file__).parent,
    tables=("nanobot.plugins.common.store.access_tables",),
    objects="nanobot.plugins.web_access.service:objects",
    operations="nanobot.plugins.web_access.operations:operations",
    paths=("/api/login", "/api/logout"),
    groups={
        "web": "The page, and who may ask over HTTP.",
        "web tokens": "Tokens of programs, and browsers that are logged in.",
    },
)
