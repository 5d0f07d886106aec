"""The HTTP server: one port for the routes of plugins, deliveries of other services, and requests
of the platforms of channels. The application is loaded at the first connection, so that a gateway
that nobody asks pays nothing for it.
"""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.http.settings import WebSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="http",
    summary="The HTTP server: the page, the HTTP API, webhooks, and platforms that send requests.",
    texts=Path(__file__).parent,
    settings=WebSettings,
    table="web",
    objects="nanobot.plugins.http.serving:objects",
    always_objects="nanobot.plugins.http.plugin_metrics:always_objects",
    listening="nanobot.plugins.http.serving:listening",
    channels="nanobot.plugins.http.serving:channels",
    paths=("/metrics", "/healthz", "/readyz", "/channels/"),
)
