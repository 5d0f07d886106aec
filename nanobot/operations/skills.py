"""Operations on skills."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.messages import Role
from nanobot.operations.operation import (
    Arguments,
    Caller,
    First,
    Nothing,
    Operation,
    OperationContext,
)
from nanobot.operations.rendering import as_text
from nanobot.workspace.skills import SkillView


class _Show(Arguments, frozen=True, kw_only=True):
    name: Annotated[First, Meta(description="Its name.")]


class _Add(Arguments, frozen=True, kw_only=True):
    path: Annotated[First, Meta(description="The folder with its SKILL.md, on this machine.")]
    replace: Annotated[bool, Meta(description="Put it in the place of one of its name.")] = False


async def _skills(operations: OperationContext, _: Caller, __: Nothing) -> list[SkillView]:
    skills = operations.engine.skills
    return [skills.view(one) for one in skills.all()]


async def _show(operations: OperationContext, _: Caller, asked: _Show) -> SkillView:
    skills = operations.engine.skills
    return skills.view(skills.named(asked.name), page=True)


async def _add(operations: OperationContext, _: Caller, asked: _Add) -> SkillView:
    skills = operations.engine.skills
    return skills.view(skills.add(asked.path, replace=asked.replace))


def _page(one: SkillView, now: float) -> str:
    return f"{as_text(msgspec.structs.replace(one, text=''), now)}\n\n{one.text}".strip()


SKILLS: tuple[Operation, ...] = (
    Operation(
        name="skills list",
        help="lists the skills, and what they lack",
        run=_skills,
        returns=list[SkillView],
        role=Role.MEMBER,
    ),
    Operation(
        name="skills show",
        help="shows the page of a skill",
        run=_show,
        arguments=_Show,
        returns=SkillView,
        role=Role.MEMBER,
        text=_page,
    ),
    Operation(
        name="skills add",
        help="copies a skill into the workspace",
        run=_add,
        arguments=_Add,
        returns=SkillView,
    ),
)
