"""The skills of a gateway: what the plugin's functions give to nanobot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from nanobot.agent.prompt import LastParts, PromptAddition
from nanobot.boundary import boundary
from nanobot.config.loader import Config
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.skills.parts import SkillParts
from nanobot.plugins.skills.settings import SkillsSettings
from nanobot.plugins.skills.shown import PromptSkills
from nanobot.plugins.skills.skills import Skills
from nanobot.plugins.skills.tool import skill_tool
from nanobot.seam.offers import Environment
from nanobot.seam.works import Follow
from nanobot.tools.base import AnyTool


def objects(
    settings: SkillsSettings, config: Config, environ: Environment, follow: Follow
) -> Mapping[Any, Any]:
    """The skills of the workspace, which hide others when the configuration says so."""
    skills = Skills(config.workspace, environ, settings.disabled)

    def hide(changed: SkillsSettings) -> None:
        skills.hide(changed.disabled)

    follow.add(hide)
    return {Skills: skills}


def tools(skills: Skills, taint: TaintedFiles) -> list[AnyTool]:
    """The tool that opens them."""
    return [skill_tool(skills, taint)]


def prompt(skills: Skills) -> PromptAddition:
    """The last parts of prompts with tools."""
    parts = SkillParts(PromptSkills(skills))
    return PromptAddition(last=parts.of, renew=skills.changed, keys=("skills.disabled",))


@asynccontextmanager
async def start(skills: Skills) -> AsyncIterator[None]:
    """Read the skills before the first message, which no start waits for."""

    async def read() -> None:
        with boundary("the skills"):
            await asyncio.to_thread(skills.all)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read(), name="skills")
        yield


def parts_of(workspace: Path) -> LastParts:
    """The last parts of the prompts of a program over a workspace."""
    return SkillParts(PromptSkills(Skills(workspace))).of


def tool_of(workspace: Path, environ: Mapping[str, str]) -> AnyTool:
    """The tool of a program over a workspace."""
    return skill_tool(Skills(workspace, environ))
