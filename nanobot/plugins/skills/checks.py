"""What `nanobot doctor` says of skills."""

from __future__ import annotations

from nanobot.config.loader import Config
from nanobot.operations.home import Finding
from nanobot.plugins.skills.skills import Skills
from nanobot.system import environment


def checks(config: Config) -> list[Finding]:
    """Unusable skills of the workspace. `skills list` shows what bundled ones lack."""
    return [
        Finding(about="skills", level="warning", text=f"{skill.path}: {skill.wrong}")
        if skill.wrong
        else Finding(about="skills", level="warning", text=f"{skill.path} needs {skill.lacking[0]}")
        for skill in Skills(config.workspace, environment()).all()
        if skill.source == "workspace" and skill.state != "ready"
    ]
