"""The HTTP API: every operation as a route, conversations, files, live updates, and their OpenAPI
document; and how a browser logs in.
"""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="http_api",
    summary="The HTTP API, which the page and other programs use.",
    requires=("http",),
    texts=Path(__file__).parent,
    objects="nanobot.plugins.http_api.current:objects",
    events="nanobot.plugins.http_api.current:watching",
    routes="nanobot.plugins.http_api.routes:routes",
    paths=("/api/", "/ws", "/openapi.json"),
)
