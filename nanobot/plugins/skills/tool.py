"""The tool that opens a skill."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec

from nanobot.errors import NanobotError, ToolError
from nanobot.labels import NOTHING, Label
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.skills.skills import Skill, Skills
from nanobot.text import MAX_RESULT_CHARS, quoted
from nanobot.tools.base import CallContext, Effect, Tool, ToolOutput

_ROOM = MAX_RESULT_CHARS - 200


class OpenSkill(msgspec.Struct, frozen=True):
    """Arguments of skill."""

    name: Annotated[str, msgspec.Meta(max_length=64, description="Its name, as in the list")]
    file: Annotated[
        str, msgspec.Meta(max_length=500, description="Another file of it that its page names")
    ] = ""
    offset: Annotated[int, msgspec.Meta(ge=0, description="Go on behind so many characters")] = 0


def _page(text: str, offset: int) -> str:
    """As much as fits into one result, ending at a line end."""
    rest = text[offset:]
    if len(rest) <= _ROOM:
        return rest
    end = rest.rfind("\n", 0, _ROOM) + 1 or _ROOM
    return f"{rest[:end]}\n[it goes on: read the rest with offset={offset + end}]"


async def _label_of(skill: Skill, args: OpenSkill, taint: TaintedFiles) -> Label:
    """Whose words a file of a skill has."""
    if skill.source != "workspace":
        return NOTHING
    return await taint.label_of_all([f"skills/{skill.name}/{args.file or 'SKILL.md'}"])


def skill_tool(skills: Skills, taint: TaintedFiles | None = None) -> Tool[OpenSkill]:
    """skill, for owners and members: a skill's page, or another file of its folder. `taint` tells
    which files of the workspace have content from outside.
    """

    def read(args: OpenSkill) -> str:
        try:
            skill = skills.named(args.name)
        except NanobotError as error:
            raise ToolError(str(error)) from error
        if skill.disabled:
            raise ToolError(f"the skill {skill.name} is switched off")
        if skill.wrong:
            raise ToolError(f"the skill {skill.name} cannot be read: {skill.wrong}")
        if args.file:
            return _page(skills.file(skill, args.file), args.offset)
        notes = [f"This machine lacks {'; '.join(skill.lacking)}."] if skill.lacking else []
        if skill.files:
            notes.append(f"More of it, for skill(name, file): {', '.join(skill.files)}.")
        if skill.source == "workspace":
            notes.append(f"It lies in the workspace: skills/{skill.name}/.")
        return _page("\n".join([skill.body, *(["", *notes] if notes else [])]), args.offset)

    async def run(args: OpenSkill, _: CallContext) -> ToolOutput:
        try:
            text = await asyncio.to_thread(read, args)
            label = (
                NOTHING if taint is None else await _label_of(skills.named(args.name), args, taint)
            )
            return ToolOutput(text, tainted=label.tainted, label=label)
        except OSError as error:
            raise ToolError(f"{quoted(args.name)} cannot be read: {error.strerror}") from error

    return Tool(
        name="skill",
        description=(
            "Open a skill: a page that says how to do one kind of work well here. Open it before "
            "you begin such work."
        ),
        args=OpenSkill,
        run=run,
        effect=Effect.NONE,
        taints=False,
    )
