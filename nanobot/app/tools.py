"""The tools that every gateway has."""

from __future__ import annotations

from collections.abc import Collection

from nanobot.app.parts import private_paths
from nanobot.tools.ask_user import ask_tool
from nanobot.tools.base import AnyTool
from nanobot.tools.files.tools import file_tools
from nanobot.tools.message import OutgoingFiles, message_tool
from nanobot.tools.parsing.kinds import FileReaders
from nanobot.tools.privacy import kept_apart
from nanobot.tools.skill import skill_tool
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.confinement import ConfinedFiles
from nanobot.workspace.skills import Skills
from nanobot.workspace.taint import TaintedFiles


def builtin_tools(
    roots: ConfinedFiles,
    taint: TaintedFiles,
    blobs: Blobs,
    chats: Collection[str],
    skills: Skills,
    readers: FileReaders,
) -> list[AnyTool]:
    """The built-in tools, except those that start runs, belong to stages, or search for tools."""
    files = workspace_tools(roots, taint, blobs, chats, readers)
    return [ask_tool(), *files, skill_tool(skills)]


def workspace_tools(
    roots: ConfinedFiles,
    taint: TaintedFiles,
    blobs: Blobs,
    chats: Collection[str],
    readers: FileReaders | None = None,
) -> list[AnyTool]:
    """The tools for files of the workspace. Unless only an owner reads, they cannot reach private
    files. `chats`: the channels that `message` may write to."""

    def tools_over(roots: ConfinedFiles) -> list[AnyTool]:
        files = file_tools(roots, taint=taint, readers=readers)
        return [*files, message_tool(chats, OutgoingFiles(roots, blobs))]

    return kept_apart(tools_over, roots, private_paths(roots.workspace))
