"""Personas: the assistant's styles of speaking. Each is a Markdown file in this folder, or
`personas/NAME.md` in the workspace, which takes precedence.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from nanobot.errors import ConfigError
from nanobot.workspace.folder import clipped

LIMIT = 8_000
"""Maximum characters read from a persona."""

_PRESETS = Path(__file__).resolve().parent


def names(workspace: Path) -> list[str]:
    """All available personas, sorted."""
    own = workspace / "personas"
    return sorted({file.stem for folder in (_PRESETS, own) for file in folder.glob("*.md")})


def check(name: str, workspace: Path) -> None:
    """Raises ConfigError if the persona does not exist, naming the most similar one."""
    personas = names(workspace)
    if name in personas:
        return
    near = difflib.get_close_matches(name.lower(), personas, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}? " if near else ""
    raise ConfigError(
        f'agent.persona: there is no persona "{name[:64]}"; {hint}There are {", ".join(personas)}. '
        f"One of your own goes into {workspace / 'personas'}/NAME.md."
    )


def text(name: str, workspace: Path) -> str:
    """The text of a persona. If it was removed after the start, the text of the default persona."""
    if name in names(workspace):  # a name is not a path
        own = clipped(workspace, f"personas/{name}.md", LIMIT)
        own = own or clipped(_PRESETS, f"{name}.md", LIMIT)
        if own:
            return own
    return clipped(_PRESETS, "default.md", LIMIT)
