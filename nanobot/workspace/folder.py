"""The workspace: the assistant's own folder."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from nanobot.errors import ConfigError
from nanobot.labels import without_secret_lines
from nanobot.workspace import assets

_LONGEST_LINE = 8_000
"""Characters that are read behind a limit, for the mark at the end of a line there."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read(root: Path, path: str, limit: int) -> str:
    """At most `limit` characters of a text file under `root`; `path` uses `/`.

    No link under `root` is followed: the model may create links there, and files for the prompt are
    read outside the sandbox. Raises OSError, also if it is not a regular file.
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
            raise OSError(f"{path} is not a regular file")
        return file.read(limit)


def clipped(root: Path, path: str, limit: int) -> str:
    """The file's text without leading and trailing white space and without lines that are marked as
    secret, "" if it does not exist; a longer text is cut, with a note that says so.
    """
    try:
        text = without_secret_lines(read(root, path, limit + _LONGEST_LINE)).strip()
    except OSError:
        return ""
    if len(text) > limit:
        name = path.rpartition("/")[2]
        return f"{text[:limit]}\n[... {name} goes on; only its beginning is read ...]"
    return text


def prepare(path: Path) -> None:
    """Create the workspace from the template if it does not exist.

    An existing folder stays unchanged, even an empty one: files that a person removed do not come
    back, and nothing is ever overwritten. A crash midway leaves no partial workspace. Raises
    ConfigError if `path` is not a folder or cannot be created.
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
        shutil.rmtree(unfinished)  # another process, starting at the same time, created it first
