"""The tool that every gateway has."""

from __future__ import annotations

from collections.abc import Collection

from nanobot.app.parts import private_paths
from nanobot.tools.base import AnyTool
from nanobot.tools.message import message_tool
from nanobot.tools.privacy import kept_apart
from nanobot.workspace.confinement import ConfinedFiles


def builtin_tools(roots: ConfinedFiles, chats: Collection[str]) -> list[AnyTool]:
    """The tool `message`, which may write to these channels. Unless only an owner reads, it cannot
    send private files."""

    def over(reached: ConfinedFiles) -> list[AnyTool]:
        return [message_tool(chats, reached)]

    return kept_apart(over, roots, private_paths(roots.workspace))
