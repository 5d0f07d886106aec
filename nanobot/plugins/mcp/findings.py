"""The findings of `nanobot doctor` about MCP servers."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.config.loader import Config
from nanobot.errors import NanobotError
from nanobot.operations.home import Finding
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.mcp.store import kept_at


def checks(servers: Mapping[str, McpSettings], config: Config) -> list[Finding]:
    """A finding about each server whose tools an owner has to accept."""
    pinned = [name for name, server in servers.items() if server.enabled and server.pin != "off"]
    if not pinned:
        return []
    try:
        pins = kept_at(config.database_url)
    except NanobotError as error:
        return [Finding(about="mcp", level="broken", text=str(error))]
    findings = []
    for name in pinned:
        own = [pin for pin in pins if pin.server == name]
        waiting = [pin for pin in own if pin.state != "accepted"]
        about = f"mcp.{name}"
        text = f"all {len(own)} tools are accepted" if own else "it has listed no tools yet"
        if waiting:
            changed = sum(1 for pin in waiting if pin.state == "changed")
            text = f"{len(waiting)} of {len(own)} tools are not accepted, {changed} of them changed"
            remedy = (
                f"`nanobot mcp review {name}` shows them; until then each call needs an approval"
            )
            findings.append(Finding(about=about, level="warning", text=text, remedy=remedy))
        else:
            findings.append(Finding(about=about, level="ok", text=text))
    return findings
