"""The workspace: the folder that is the assistant's own."""

from __future__ import annotations

import shutil
import tempfile
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
    if (path.exists() or path.is_symlink()) and not path.is_dir():
        raise ConfigError(
            f"the workspace {path} is not a folder. Move it away, or set `workspace` to a folder."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    for source in sorted(assets.workspace_template().rglob("*")):
        target = unfinished / source.relative_to(assets.workspace_template())
        if source.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(source.read_bytes())
    try:
        unfinished.rename(path)
    except OSError:
        if not path.is_dir():
            raise
        shutil.rmtree(unfinished)  # somebody else, starting at the same time, made it first
