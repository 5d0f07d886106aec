"""What system prompts say about skills."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nanobot.agent.prompt import FILE_LIMIT, PromptPart
from nanobot.plugins.skills.shown import PromptSkills
from nanobot.plugins.skills.skills import Skill

SKILLS_LIMIT = 8_000
"""Characters of the list of skills. One that is always open has those of a file, FILE_LIMIT."""
_LINE = 200


class SkillParts:
    """The parts about skills, made once for each state of the skills."""

    def __init__(self, skills: PromptSkills) -> None:
        self._skills = skills
        self._shown: tuple[Skill, ...] = ()
        self._made: dict[bool, list[PromptPart]] = {}

    def of(self, offered: Collection[str]) -> Sequence[PromptPart]:
        """The parts of a prompt that offers these tools: the same objects as long as the skills
        are the same."""
        listed, shown = "skill" in offered, self._skills.shown()
        if shown is not self._shown:
            self._shown, self._made = shown, {}
        if listed not in self._made:
            self._made[listed] = _parts(shown, listed=listed)
        return self._made[listed]


def _parts(skills: Sequence[Skill], *, listed: bool) -> list[PromptPart]:
    """The skills that are always open in full, then one line for each of the others."""
    usable = [skill for skill in skills if not skill.wrong]
    parts = [
        PromptPart(f"skill {skill.name}", f"# Skill: {skill.name}\n\n{_cut(skill.body)}")
        for skill in usable
        if skill.always and not skill.lacking
    ]
    lines = [_summary(skill) for skill in usable if not skill.always or skill.lacking]
    if not lines or not listed:
        return parts
    head = (
        "# Skills\n\nPages on how to do one kind of work. When a task fits one, open it with the "
        "tool `skill` before you begin.\n"
    )
    shown, room = [head], SKILLS_LIMIT
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            shown.append(f"- ... and {len(lines) - len(shown) + 1} more that are not listed")
            break
        shown.append(line)
    return [*parts, PromptPart("skills", "\n".join(shown))]


def _summary(skill: Skill) -> str:
    description = skill.description
    description = description if len(description) <= _LINE else f"{description[:_LINE]}..."
    lacking = f" (not usable here: it needs {'; '.join(skill.lacking)})" if skill.lacking else ""
    return f"- {skill.name}: {description}{lacking}"


def _cut(body: str) -> str:
    return body if len(body) <= FILE_LIMIT else f"{body[:FILE_LIMIT]}\n[... it goes on ...]"
