"""Skills: instructions for one kind of work, which the model opens when it begins such work."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.skills.settings import SkillsSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="skills",
    summary="Instructions that the model can load.",
    texts=Path(__file__).parent,
    settings=SkillsSettings,
    objects="nanobot.plugins.skills.service:objects",
    operations="nanobot.plugins.skills.operations:operations",
    groups={"skills": "Skills: instructions that the model can load."},
    reserves=("skill",),
    tools="nanobot.plugins.skills.service:tools",
    prompt="nanobot.plugins.skills.service:prompt",
    start="nanobot.plugins.skills.service:start",
    checks="nanobot.plugins.skills.checks:checks",
    page="nanobot.plugins.skills.view:views",
    provides={
        "skill_parts": "nanobot.plugins.skills.service:parts_of",
        "skill_tool": "nanobot.plugins.skills.service:tool_of",
    },
)
