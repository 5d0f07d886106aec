"""Model Context Protocol: tools, resources and prompts of servers for the model; and nanobot as a
server for other programs.

Only `connection`, `stdio`, `http`, `content` and `offered_tools` import the protocol's own package,
which takes most of a second, so they are imported when a server is configured or a program asks.
"""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.mcp.settings import McpSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="mcp",
    summary="Servers of the Model Context Protocol.",
    texts=Path(__file__).parent,
    settings=McpSettings,
    named=True,
    tables=("nanobot.plugins.mcp.tables",),
    groups={"mcp": "Servers of the Model Context Protocol, whose tools the assistant has."},
    fits="nanobot.plugins.mcp.checks:fits",
    objects="nanobot.plugins.mcp.service:servers",
    operations="nanobot.plugins.mcp.operations:operations",
    tools="nanobot.plugins.mcp.service:tools",
    reserves=("mcp__*", "mcp_read", "find_tools", "call_tool"),
    start="nanobot.plugins.mcp.service:start",
    page="nanobot.plugins.mcp.view:views",
    routes="nanobot.plugins.mcp.route:routes",
    paths=("/mcp",),
    exposures="nanobot.plugins.mcp.exposures:exposures",
    checks="nanobot.plugins.mcp.findings:checks",
    commands="nanobot.plugins.mcp.commands:commands",
    provides={"foreign_arguments": "nanobot.plugins.mcp.foreign_schema:parse_foreign"},
)
