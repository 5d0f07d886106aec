"""Operations on skills."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.config.loader import load
from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import MachinePath, Positional
from nanobot.operations.rendering import Now, as_text
from nanobot.plugins.common.keys.home_settings import HomeSettings
from nanobot.plugins.skills.skills import Skills, SkillView
from nanobot.seam.offers import Environment
from nanobot.text import Sentence

_LATER: Sentence = "the change takes effect at the next start (`restart`)"


@operation("skills list", reads=True, role=Role.MEMBER)
async def list_skills(context: OperationContext, _: Caller) -> list[SkillView]:
    """List the skills and what each is missing."""
    skills = context.of(Skills)
    return [skills.view(skill) for skill in skills.all()]


def _page(skill: SkillView, now: Now) -> Sentence:
    return f"{as_text(msgspec.structs.replace(skill, text=''), now)}\n\n{skill.text}".strip()


@operation("skills show", reads=True, role=Role.MEMBER, text=_page, example="weather")
async def show_skill(
    context: OperationContext,
    _: Caller,
    name: Annotated[Positional, Meta(description="Its name.")],
) -> SkillView:
    """Show a skill's instructions."""
    skills = context.of(Skills)
    return skills.view(skills.named(name), page=True)


_Name = Annotated[Positional, Meta(description="Its name.")]


async def _switched(context: OperationContext, name: str, *, enabled: bool) -> SkillView:
    skills = context.of(Skills)
    skills.named(name)
    # What is written may differ from what applies until the next start.
    written = (await asyncio.to_thread(load, context.of(Environment))).tables["skills"].disabled
    disabled = {*written} - {name} if enabled else {*written, name}
    changed = await context.of(HomeSettings).change({"skills.disabled": sorted(disabled)})
    view = skills.view(skills.named(name))
    return msgspec.structs.replace(view, why=_LATER) if changed.restart else view


def _switch_text(skill: SkillView, _: Now) -> Sentence:
    return f"The skill {skill.name} is {skill.state}{f': {skill.why}' if skill.why else ''}."


@operation("skills enable", text=_switch_text, example="weather")
async def enable_skill(context: OperationContext, _: Caller, name: _Name) -> SkillView:
    """Enable a skill in new conversations."""
    return await _switched(context, name, enabled=True)


@operation("skills disable", text=_switch_text, example="weather")
async def disable_skill(context: OperationContext, _: Caller, name: _Name) -> SkillView:
    """Disable a skill in new conversations.

    Its files stay.
    """
    return await _switched(context, name, enabled=False)


@operation("skills add", example="./my-skill")
async def add_skill(
    context: OperationContext,
    _: Caller,
    path: Annotated[
        MachinePath, Meta(description="The folder with its SKILL.md, on this machine.")
    ],
    *,
    replace: Annotated[bool, Meta(description="Replace a skill of the same name.")] = False,
) -> SkillView:
    """Copy a skill into the workspace.

    Open conversations see it after `/new` or `nanobot reload`.
    """
    skills = context.of(Skills)
    return skills.view(skills.add(path, replace=replace))


def operations() -> list[Operation]:
    """What people can do with skills."""
    return [list_skills, show_skill, enable_skill, disable_skill, add_skill]
