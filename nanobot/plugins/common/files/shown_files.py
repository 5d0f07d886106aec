"""The port to the files of the workspace as people may open them; the plugin `files` has it."""

from __future__ import annotations

from typing import Protocol


class OpenFile(Protocol):
    """A file that is read in pieces. Replacing the file under its name does not affect it."""

    name: str
    size: int

    async def read(self, offset: int, count: int) -> bytes:
        """Up to `count` bytes from that offset; b"" at the end."""

    def close(self) -> None:
        """Must be called once."""


class ShownFiles(Protocol):
    """The files that people may open: nothing outside the workspace, nothing that is hidden from
    tools, nothing that a rule hides from `read_file`."""

    async def opened(self, path: str) -> OpenFile:
        """An opened file; the caller closes it. Raises NanobotError."""
