"""What MCP servers could reach: the data they are sent and, for a program, the whole machine or
what its table grants."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from nanobot.plugins.common.addresses import is_local
from nanobot.plugins.common.exposures import Exposure
from nanobot.plugins.common.keys.tool_settings import REGISTRIES
from nanobot.plugins.common.walls import NetworkAccess, Walls
from nanobot.plugins.mcp.settings import McpSettings


async def exposures(servers: Mapping[str, McpSettings], walls: Walls) -> list[Exposure]:
    """The exposure of each enabled server, from its table. The sandbox of commands does not matter
    here."""
    rows = []
    for name, server in servers.items():
        if not server.enabled:
            continue
        if server.command:
            network = NetworkAccess(mode=server.network, hosts=server.hosts)
            bare = "its `sandbox` is off"
            if server.sandbox != "off":
                bare = await walls.probe(network) or ""
            rows.append(_program(name, server, bare, walled=walls.not_alone() is None))
        else:
            rows.append(_remote(name, server))
    return rows


def _remote(name: str, server: McpSettings) -> Exposure:
    if server.url.startswith("http://") and not is_local(urlsplit(server.url).hostname or ""):
        return Exposure(
            attacker="MCP server",
            level="danger",
            reaches=f"mcp.{name}: unencrypted: anyone on the network path can read and change "
            f"everything",
            remedy=f"Use https:// in mcp.{name}.url.",
        )
    return Exposure(
        attacker="MCP server", level="note", reaches=f"mcp.{name}: the arguments of its calls"
    )


def _program(name: str, server: McpSettings, bare: str, *, walled: bool) -> Exposure:
    if bare and server.sandbox == "bwrap":
        return Exposure(
            attacker="MCP server",
            level="ok",
            reaches=f"mcp.{name}: nothing, it is not started without a sandbox ({bare})",
        )
    if bare:
        walled = walled and server.sandbox != "off"
        return Exposure(
            attacker="MCP server",
            level="risk" if walled else "danger",
            reaches=f"mcp.{name}: its program runs without a sandbox ({bare})"
            + (
                ": what its table grants, other processes and the network, behind Landlock"
                if walled
                else ", as nanobot's user"
            ),
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
        reaches=f"mcp.{name}: its program reaches {granted}, {network}, its environment and the "
        f"arguments of its calls",
        remedy=f"{less}Use only programs that you trust; pin the version in mcp.{name}.args.",
    )
