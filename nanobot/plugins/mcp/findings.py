"""The findings of `nanobot doctor` about MCP servers."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.config.loader import Config
from nanobot.errors import NanobotError
from nanobot.operations.home import Finding
from nanobot.plugins.common.walls import NetworkAccess, Walls, walls_of
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.mcp.store import kept_at
from nanobot.store.servers import url_of


async def checks(servers: Mapping[str, McpSettings], config: Config) -> list[Finding]:
    """Findings about servers whose tools an owner has to accept, and about programs that cannot run
    in a sandbox."""
    return [*_pinned(servers, config), *await unwalled(servers, walls_of(config))]


async def unwalled(servers: Mapping[str, McpSettings], walls: Walls) -> list[Finding]:
    """A finding about each program that should run in a sandbox, which does not work here."""
    findings = []
    for name, server in servers.items():
        if not server.enabled or not server.command or server.sandbox == "off":
            continue
        why = await walls.probe(NetworkAccess(mode=server.network, hosts=server.hosts))
        if why is None:
            continue
        about = f"mcp.{name}"
        if server.sandbox == "bwrap":
            text = f"its program is not started, because it may run in a sandbox only: {why}"
            findings.append(Finding(about=about, level="broken", text=text))
        else:
            text = f"its program runs without a sandbox: {why}"
            findings.append(Finding(about=about, level="warning", text=text))
    return findings


def _pinned(servers: Mapping[str, McpSettings], config: Config) -> list[Finding]:
    pinned = [name for name, server in servers.items() if server.enabled and server.pin != "off"]
    if not pinned:
        return []
    try:
        pins = kept_at(url_of(config))
    except NanobotError as error:
        return [Finding(about="mcp", level="broken", text=str(error))]
    findings = []
    for name in pinned:
        own = [pin for pin in pins if pin.server == name]
        waiting = [pin for pin in own if pin.state != "accepted"]
        about = f"mcp.{name}"
        text = f"all {len(own)} tools are accepted" if len(own) > 1 else "its tool is accepted"
        text = text if own else "it has listed no tools yet"
        if waiting:
            changed = sum(1 for pin in waiting if pin.state == "changed")
            text = f"{len(waiting)} of {len(own)} tools are not accepted, {changed} of them changed"
            if len(own) == 1:
                text = "its tool has changed" if changed else "its tool is not accepted"
            remedy = (
                f"`nanobot mcp review {name}` shows them; until then each call needs an approval"
            )
            findings.append(Finding(about=about, level="warning", text=text, remedy=remedy))
        else:
            findings.append(Finding(about=about, level="ok", text=text))
    return findings
