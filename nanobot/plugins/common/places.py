"""What plugins provide, on or off, for places other than the workspace of a gateway: the tools for
their files, and the one that runs commands there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.file_readers import FileReaders
from nanobot.plugins.common.keys.tool_settings import ExecSettings
from nanobot.seam.installed import Interface
from nanobot.tools.base import AnyTool


class FilePlace(msgspec.Struct, frozen=True, kw_only=True):
    """The files that `roots` reaches. `taint` tracks those with untrusted content (None: only those
    that these tools write). `readers` read documents (None: those of all installed plugins)."""

    roots: ConfinedFiles
    taint: TaintedFiles | None = None
    readers: FileReaders | None = None


FILE_TOOLS: Interface[Callable[[FilePlace], list[AnyTool]]] = Interface(name="file_tools")
"""Makes the tools for a place."""


class CommandPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where commands run, other than in a gateway."""

    workspace: Path
    """They start there, in a sandbox."""
    settings: ExecSettings
    isolation: Literal["required", "wanted"]
    """Where the sandbox does not work, "required" refuses commands, and "wanted" runs them after a
    person's approval."""
    hidden: tuple[Path, ...]
    """Paths that the sandbox hides."""
    apart: tuple[Path, ...] = ()
    """Paths that it hides from others than an owner."""
    protected: tuple[str, ...] = ()
    """Files in the workspace that only commands write that an owner alone can have caused."""
    home: Path | None = None
    """Their HOME; None: each gets an empty one."""
    environment: Mapping[str, str] = {}
    taint: TaintedFiles | None = None


COMMANDS: Interface[Callable[[CommandPlace], AnyTool]] = Interface(name="commands")
"""Makes the tool `exec` for a place."""
