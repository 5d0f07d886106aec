"""Defaults of a library agent: tools, and storage for files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from nanobot.config.loader import home_of
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.memory_blobs import MemoryBlobs
from nanobot.plugins.common.files.placed_files import PlacedFiles
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.common.keys.tool_settings import ExecSettings, WebToolSettings
from nanobot.plugins.common.message_tool import message_tool
from nanobot.plugins.common.places import COMMANDS, FILE_TOOLS, CommandPlace, FilePlace
from nanobot.plugins.common.runs.background_runs import TaskStarter
from nanobot.plugins.common.runs.background_work import SPAWNING
from nanobot.seam.installed import Interface, provided
from nanobot.system import environment, local_zone
from nanobot.tools.base import AnyTool
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.received import Received

WEB_TOOLS: Interface[Callable[[WebToolSettings], list[AnyTool]]] = Interface(name="web_tools")
"""Makes the tools for the web."""
SKILL_TOOL: Interface[Callable[[Path, Mapping[str, str]], AnyTool]] = Interface(name="skill_tool")
"""Makes the tool that opens the skills of a workspace, in an environment."""
SCHEDULING: Interface[Callable[[JobService, str], AnyTool]] = Interface(name="scheduling")
"""Has a service fire jobs by the clock, and makes the tool that schedules them, in a time zone."""


def keeper(workspace: Path, blobs: Path | None) -> Received:
    """Stores the files of a program's messages: in the workspace, and the bytes of pictures in
    `blobs` (None: in memory)."""
    roots = ConfinedFiles(workspace, hidden=(home_of(environment()),))
    return Received(MemoryBlobs() if blobs is None else Blobs(blobs), PlacedFiles(roots))


def default_tools(
    workspace: Path,
    exec_: ExecSettings,
    *,
    everywhere: bool = False,
    brave_api_key: str = "",
) -> ToolRegistry:
    """Files, commands, skills, the web and messages to any chat. nanobot's home outside the
    workspace is not accessible; with `everywhere`, all other files are."""
    environ = environment()
    hidden = (home_of(environ),)
    place = CommandPlace(
        workspace=workspace,
        settings=exec_,
        isolation="wanted",
        hidden=hidden,
        home=hidden[0] / "sandbox-home",
        environment=environ,
    )
    tools = ToolRegistry()
    for tool in (
        *_file_tools(ConfinedFiles(workspace, hidden=hidden, everywhere=everywhere)),
        *_skills(workspace, environ),
        *_commands(place),
        *_web_tools(WebToolSettings(brave_api_key=brave_api_key)),
        message_tool(None),
    ):
        tools.register(tool)
    return tools


def _file_tools(roots: ConfinedFiles) -> list[AnyTool]:
    """None if no plugin provides them."""
    make = provided(FILE_TOOLS)
    return [] if make is None else make(FilePlace(roots=roots))


def _commands(place: CommandPlace) -> list[AnyTool]:
    """None if no plugin provides them."""
    make = provided(COMMANDS)
    return [] if make is None else [make(place)]


def _skills(workspace: Path, environ: Mapping[str, str]) -> list[AnyTool]:
    """None if no plugin provides it."""
    make = provided(SKILL_TOOL)
    return [] if make is None else [make(workspace, environ)]


def _web_tools(settings: WebToolSettings) -> list[AnyTool]:
    """None if no plugin provides them."""
    make = provided(WEB_TOOLS)
    return [] if make is None else make(settings)


def add_managed(tools: ToolRegistry, starter: TaskStarter | None, cron: JobService | None) -> None:
    """Add the tools for subagents and jobs, if their service is given and the name is free."""
    names = {spec.name for spec in tools.specs()}
    spawning = None if starter is None else provided(SPAWNING)
    if starter is not None and spawning is not None and "spawn" not in names:
        tools.register(spawning(starter))
    scheduling = None if cron is None else provided(SCHEDULING)
    if cron is not None and scheduling is not None:
        tool = scheduling(cron, local_zone(environment()))
        if tool.name not in names:
            tools.register(tool)
