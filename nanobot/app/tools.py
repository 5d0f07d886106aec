"""The tools that every gateway has."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from nanobot.app.parts import private_paths
from nanobot.app.settings import exec_options
from nanobot.config.loader import Config
from nanobot.tools.ask_user import ask_tool
from nanobot.tools.base import AnyTool
from nanobot.tools.files.tools import file_tools
from nanobot.tools.message import OutgoingFiles, message_tool
from nanobot.tools.parsing.kinds import FileReaders
from nanobot.tools.privacy import kept_apart
from nanobot.tools.sandbox.sandbox import Sandbox
from nanobot.tools.shell.allowed_hosts import AllowedHosts
from nanobot.tools.shell.background import BackgroundCommands
from nanobot.tools.shell.exec import exec_tool
from nanobot.tools.shell.process import process_tool
from nanobot.tools.skill import skill_tool
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.confinement import ConfinedFiles
from nanobot.workspace.skills import Skills
from nanobot.workspace.taint import TaintedFiles


class ToolDependencies(msgspec.Struct, frozen=True, kw_only=True):
    """Dependencies of tools. `chats`: the channels that `message` may write to."""

    config: Config
    sandbox: Sandbox
    commands: BackgroundCommands
    hosts: AllowedHosts
    files: ConfinedFiles
    taint: TaintedFiles
    blobs: Blobs
    chats: Collection[str]
    skills: Skills
    readers: FileReaders


def builtin_tools(needs: ToolDependencies) -> list[AnyTool]:
    """The built-in tools, except those that start runs, belong to stages, or search for tools."""
    config = needs.config
    options = exec_options(config.tools.exec)
    sandbox, commands, taint = needs.sandbox, needs.commands, needs.taint
    return [
        ask_tool(),
        *workspace_tools(needs.files, taint, needs.blobs, needs.chats, needs.readers),
        skill_tool(needs.skills),
        exec_tool(sandbox, config.workspace, options, commands, taint, needs.hosts),
        process_tool(commands),
    ]


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
