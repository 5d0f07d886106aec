"""Where the files shipped beside the code are: in the package, or at the root of a checkout."""

from __future__ import annotations

from pathlib import Path

from nanobot.errors import NanobotError

_PACKAGE = Path(__file__).resolve().parent


def skills() -> Path:
    """The folder of the shipped skills."""
    return _folder("skills")


def workspace_template() -> Path:
    """The folder that a new workspace is copied from."""
    return _folder("workspace_template")


def _folder(name: str) -> Path:
    # The checkout first: an editable install may carry a copy from the day it was made.
    for root in (_PACKAGE.parent, _PACKAGE / "_assets"):
        folder = root / name
        if folder.is_dir() and _is_ours(root):
            return folder
    raise NanobotError(f"nanobot is installed without its folder {name}/. Install it again.")


def _is_ours(root: Path) -> bool:
    """Beside an installed package lie other people's folders; in a checkout, our pyproject.toml."""
    return root.name == "_assets" or (root / "pyproject.toml").is_file()
