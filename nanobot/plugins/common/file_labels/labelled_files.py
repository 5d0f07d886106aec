"""The port to the labels of files: whose content a file of the workspace has. The plugin
`file_labels` keeps them, on or off, for files that people send."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from nanobot.labels import Label


class LabelledFiles(Protocol):
    """Labels of files, by path and by content."""

    async def expect(self, content: bytes, label: Label) -> None:
        """Label every file with this content, also one that does not exist yet."""

    async def received(self, path: str, label: Label) -> None:
        """Label the file at this path of the workspace, and its name."""

    async def is_outside(self, place: Path, content: bytes) -> bool:
        """Whether a file at this absolute path, with links resolved, is known to have content from
        outside, by its path or its content."""
