"""What is shown of files of the workspace."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

FileKind: TypeAlias = Literal["folder", "file", "link", "other"]


class FileView(msgspec.Struct, frozen=True, kw_only=True):
    """Something in the workspace, by its path there. `size` in bytes, of files alone; a `link` is
    shown where it leads, if that is within."""

    path: str
    kind: FileKind
    size: int | None
    changed_at: float


class FileText(msgspec.Struct, frozen=True, kw_only=True):
    """A file with its text, as much as is shown of it (`cut`: there is more). Of what is no text
    there is only the size."""

    path: str
    size: int
    changed_at: float
    text: str
    is_text: bool
    cut: bool = False
