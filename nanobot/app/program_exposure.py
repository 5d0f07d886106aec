"""What the program of an MCP server could reach: all of it, or what its table grants."""

from __future__ import annotations

from nanobot.config.settings.tools import REGISTRIES, McpSettings
from nanobot.operations.exposures import Exposure


def program_exposure(name: str, server: McpSettings, bare: str | None) -> Exposure:
    """`bare`: why programs run without a sandbox; None if they do not."""
    if server.sandbox == "off" or (bare and server.sandbox == "auto"):
        return Exposure(
            attacker="MCP server",
            level="danger",
            reaches=f"mcp.{name}: its program runs without a sandbox, as nanobot's user",
            remedy=f'Have bubblewrap work (nanobot doctor), and set mcp.{name}.sandbox = "bwrap".',
        )
    hosts = ", ".join(server.hosts).replace(REGISTRIES, "package registries")
    network = {"none": "no network", "hosts": hosts, "all": "the whole network"}[server.network]
    granted = ", ".join((*server.read, *server.write)) or "no files but its own"
    wide = server.network == "all" or "*" in server.hosts or bool(server.write)
    less = f"Grant less in mcp.{name} if it needs less. " if wide else ""
    return Exposure(
        attacker="MCP server",
        level="risk" if wide else "note",
        reaches=f"mcp.{name}: its program reaches {granted}, {network}, its environment and what "
        "it is told in calls",
        remedy=f"{less}Use only programs that you trust; pin the version in mcp.{name}.args.",
    )
