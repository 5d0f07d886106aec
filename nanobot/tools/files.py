"""What a plugin provides for the files of a workspace, on or off: the tools that read, write and
search them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from nanobot.seam.faces import Interface
from nanobot.tools.base import AnyTool
from nanobot.tools.parsing.kinds import FileReaders
from nanobot.workspace.confinement import ConfinedFiles
from nanobot.workspace.taint import TaintedFiles


class FilePlace(msgspec.Struct, frozen=True, kw_only=True):
    """The files that `roots` reaches. `taint` tracks those with untrusted content (None: only those
    that these tools write). `readers` read documents (None: those of all installed plugins)."""

    roots: ConfinedFiles
    taint: TaintedFiles | None = None
    readers: FileReaders | None = None


FILE_TOOLS: Interface[Callable[[FilePlace], list[AnyTool]]] = Interface(name="file_tools")
"""Makes the tools for a place."""
