"""What plugins provide, on or off, for places other than the workspace of a gateway: the tools for
their files, and the one that runs commands there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.file_readers import FileReaders
from nanobot.plugins.common.tool_settings import ExecSettings
from nanobot.seam.faces import Interface
from nanobot.tools.base import AnyTool
from nanobot.workspace.confinement import ConfinedFiles


class FilePlace(msgspec.Struct, frozen=True, kw_only=True):
    """The files that `roots` reaches. `taint` tracks those with untrusted content (None: only those
    that these tools write). `readers` read documents (None: those of all installed plugins)."""

    roots: ConfinedFiles
    taint: TaintedFiles | None = None
    readers: FileReaders | None = None


FILE_TOOLS: Interface[Callable[[FilePlace], list[AnyTool]]] = Interface(name="file_tools")
"""Makes the tools for a place."""


class CommandPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where commands run, other than in a gateway: in `workspace`, in a sandbox that hides `hidden`
    and, from others than an owner, `apart`. Only commands that an owner alone can have caused
    write the files in the workspace named in `protected`. `isolation`: "required" refuses commands
    if the sandbox does not work; "wanted" then runs them after a person's approval. `home`: their
    HOME; None: each gets an empty one.
    """

    workspace: Path
    settings: ExecSettings
    isolation: Literal["required", "wanted"]
    hidden: tuple[Path, ...]
    apart: tuple[Path, ...] = ()
    protected: tuple[str, ...] = ()
    home: Path | None = None
    environment: Mapping[str, str] = {}
    taint: TaintedFiles | None = None


COMMANDS: Interface[Callable[[CommandPlace], AnyTool]] = Interface(name="commands")
"""Makes the tool `exec` for a place."""
