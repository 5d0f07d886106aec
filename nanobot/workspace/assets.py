"""Locates the shipped files: inside the package, or at the root of a checkout."""

from __future__ import annotations

from pathlib import Path

from nanobot.errors import NanobotError

_PACKAGE = Path(__file__).resolve().parents[1]


def skills() -> Path:
    """The folder of the shipped skills."""
    return folder("skills")


def workspace_template() -> Path:
    """The folder that a new workspace is copied from."""
    return folder("workspace_template")


def folder(name: str, package: Path = _PACKAGE) -> Path:
    """A shipped folder of the package at `package`. Raises NanobotError if it is missing."""
    # The checkout first: an editable install may contain an outdated copy.
    for root in (package.parent, package / "_assets"):
        path = root / name
        if path.is_dir() and _is_ours(root):
            return path
    raise NanobotError(f"nanobot is installed without its folder {name}/. Install it again.")


def _is_ours(root: Path) -> bool:
    """Whether this is our checkout, judged by pyproject.toml: next to an installed package are
    folders of other packages.
    """
    return root.name == "_assets" or (root / "pyproject.toml").is_file()
