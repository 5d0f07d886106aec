"""The paths of a workspace that programs may read and not write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from nanobot.errors import ToolDenied


def protected_paths(workspace: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """The paths in a workspace to make read-only: entries with these names, and the targets of
    links in them. Missing entries are created empty, because only existing ones can be
    write-protected. Raises ToolDenied for a name that is a link.
    """
    return tuple(_protected(workspace, names))


def _protected(workspace: Path, names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        path = workspace / name
        if path.is_symlink():
            raise ToolDenied(
                f"{name} is a link, which cannot be protected from commands: replace it by its "
                f"target"
            )
        with suppress(FileExistsError):
            if path.suffix:
                path.touch(0o600, exist_ok=False)
            else:
                path.mkdir(0o700)
        yield path
        for link in path.rglob("*") if path.is_dir() else ():
            target = link.resolve()
            if link.is_symlink() and target.is_relative_to(workspace) and target.exists():
                yield target
