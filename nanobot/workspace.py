"""The workspace: the folder that is the assistant's own."""

from __future__ import annotations

import os
from pathlib import Path

from nanobot import assets
from nanobot.errors import ConfigError


def prepare(path: Path) -> None:
    """Create the workspace from the template if it is absent.

    A folder that is there already stays as it is, an empty one too: files that somebody removed
    do not come back, and nothing is ever overwritten. A crash half way leaves no half workspace.
    Raises ConfigError if `path` is no folder or cannot be made.
    """
    try:
        if not path.is_dir():
            _create(path)
    except OSError as error:
        raise ConfigError(
            f"the workspace {path} cannot be made ({error.strerror}). "
            "Set `workspace` to a folder that can be written."
        ) from None


def _create(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise ConfigError(
            f"the workspace {path} is not a folder. Move it away, or set `workspace` to a folder."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.mkdir(mode=0o700, exist_ok=True)
    for source in sorted(assets.workspace_template().rglob("*")):
        target = unfinished / source.relative_to(assets.workspace_template())
        if source.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(source.read_bytes())
    unfinished.rename(path)
