"""The workspace: the folder that is the assistant's own."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from nanobot.errors import ConfigError
from nanobot.workspace import assets

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read(root: Path, path: str, limit: int) -> str:
    """At most `limit` characters of a text file below `root`, `path` being written with `/`.

    No link is followed below `root`: the model may make some there, and what is read for the prompt
    is read without its walls. Raises OSError, also for what is no regular file.
    """
    *folders, name = path.split("/")
    descriptor = os.open(root, _FOLDER)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        opened = os.open(name, _FILE, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    with os.fdopen(opened, encoding="utf-8", errors="replace") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError(f"{path} is no regular file")
        return file.read(limit)


def clipped(root: Path, path: str, limit: int) -> str:
    """The file without white space at its ends, "" if there is none; a longer one is cut with a
    note that says so."""
    try:
        text = read(root, path, limit + 1).strip()
    except OSError:
        return ""
    if len(text) > limit:
        name = path.rpartition("/")[2]
        return f"{text[:limit]}\n[... {name} goes on; only its beginning is read ...]"
    return text


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
