"""The tool of a gateway that sends messages."""

from __future__ import annotations

from collections.abc import Collection

from nanobot.app.peers import ServedChannels
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.message_tool import message_tool
from nanobot.plugins.common.privacy import kept_apart, private_paths
from nanobot.tools.base import AnyTool


def tools(roots: ConfinedFiles, chats: ServedChannels) -> list[AnyTool]:
    """The tool `message`, which may write to these channels. Unless only an owner reads, it cannot
    send private files."""
    return message_tools(roots, chats)


def message_tools(roots: ConfinedFiles, chats: Collection[str]) -> list[AnyTool]:
    """The same, over any names of channels."""

    def over(reached: ConfinedFiles) -> list[AnyTool]:
        return [message_tool(chats, reached)]

    return kept_apart(over, roots, private_paths(roots.workspace))
