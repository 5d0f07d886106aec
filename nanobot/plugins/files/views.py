"""Views of workspace files."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

FileKind: TypeAlias = Literal["folder", "file", "link", "other"]


class FileView(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder of the workspace, by its path there. `size` in bytes, for files only; a
    `link` shows its target if that is inside the workspace.
    """

    path: str
    kind: FileKind
    size: int | None
    changed_at: float


class FileText(msgspec.Struct, frozen=True, kw_only=True):
    """A file with its text, up to the display limit (`cut`: there is more). For a file that is not
    text, only the size is given.
    """

    path: str
    size: int
    changed_at: float
    text: str
    is_text: bool
    cut: bool = False
