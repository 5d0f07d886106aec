"""The tool of a gateway that sends messages, and what becomes of messages of all tools."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from nanobot.agent.tool_calls import Receipts
from nanobot.app.hosting import HostedChannels
from nanobot.bus.core import Bus
from nanobot.config.loader import Config
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.message_tool import message_tool
from nanobot.plugins.common.privacy import kept_apart, private_paths
from nanobot.plugins.common.receipts import ChatReceipts
from nanobot.plugins.common.served_channels import ServedChannels
from nanobot.ports import Clock
from nanobot.session.journal import Journal
from nanobot.tools.base import AnyTool


def always_objects(
    journal: Journal, clock: Clock, channels: HostedChannels, bus: Bus, config: Config
) -> Mapping[Any, Any]:
    """The receipts of what calls send, and the channels that can be written to: also for other
    tools while this plugin is off."""

    def served(channel: str) -> bool:
        host = channels.hosts.get(channel)
        up = host is not None and host.state == "up"  # it can bring receipts
        return up or channel in bus.peers.served()

    chats = ServedChannels(config.addressed, bus)
    return {Receipts: ChatReceipts(journal, clock, served), ServedChannels: chats}


def tools(roots: ConfinedFiles, chats: ServedChannels) -> list[AnyTool]:
    """The tool `message`, which may write to these channels. Unless only an owner reads, it cannot
    send private files."""
    return message_tools(roots, chats)


def message_tools(roots: ConfinedFiles, chats: Collection[str]) -> list[AnyTool]:
    """The same, over any names of channels."""

    def over(reached: ConfinedFiles) -> list[AnyTool]:
        return [message_tool(chats, reached)]

    return kept_apart(over, roots, private_paths(roots.workspace))
