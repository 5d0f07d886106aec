"""The page: everything of a gateway in a browser, with notifications on phones."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.keys.tool_settings import WebTable
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="page",
    summary="The page in the browser, and its notifications.",
    requires=("http_api", "web_access"),
    texts=Path(__file__).parent,
    shares=(WebTable,),
    tables=(
        "nanobot.plugins.common.store.access_tables",
        "nanobot.plugins.page.tables",
    ),
    operations="nanobot.plugins.page.operations:operations",
    commands="nanobot.plugins.page.commands:commands",
    routes="nanobot.plugins.page.routes:routes",
    paths=("/", "/docs", "/sw.js", "/manifest.webmanifest", "/page/", "/api/push", "/api/push/"),
    ready="nanobot.plugins.page.inviting:ready",
    serve="nanobot.plugins.page.push.service:serve",
)
