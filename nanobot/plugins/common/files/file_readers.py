"""The kinds of files that plugins can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nanobot.errors import ToolError
from nanobot.seam.installed import FoundPlugin, installed
from nanobot.seam.plugin import FileReader

HEAD_BYTES = 65_536
"""Enough of a file's beginning to recognize its kind."""


class FileReaders:
    """The readers of the plugins that are on; `off` are those of each plugin that is off, by its
    name."""

    def __init__(
        self, on: Sequence[FileReader], off: Mapping[str, Sequence[FileReader]] | None = None
    ) -> None:
        self.on = tuple(on)
        self._off = dict(off or {})

    def of(self, head: bytes, name: str) -> FileReader | None:
        """The reader for a file with this beginning and name; None if it is of no known kind.
        Raises ToolError that names the plugin if that plugin is off."""
        for reader in self.on:
            if _fits(reader, head, name):
                return reader
        for plugin, readers in self._off.items():
            for reader in readers:
                if _fits(reader, head, name):
                    raise ToolError(
                        f"{reader.title} files are read by the plugin {plugin}, which is off here: "
                        "`nanobot plugins list` says why"
                    )
        return None


def readers_of(on: Mapping[str, FoundPlugin]) -> FileReaders:
    """The readers of files of the plugins that are on, and of those that are off."""
    rest = {name: each for name, each in installed().found.items() if name not in on}
    return FileReaders(
        [reader for found in on.values() for reader in found.plugin.readers],
        {name: each.plugin.readers for name, each in rest.items()},
    )


def installed_readers() -> FileReaders:
    """Those of every plugin that is installed, for programs without a configuration."""
    found = installed().found.values()
    return FileReaders([reader for each in found for reader in each.plugin.readers])


def _fits(reader: FileReader, head: bytes, name: str) -> bool:
    if not head.startswith(reader.begins):
        return False
    ending = name.lower().endswith(f".{reader.kind}")
    return not reader.contains or reader.contains in head or ending
