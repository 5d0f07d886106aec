"""What a plugin provides for commands of the model, on or off: the tool that runs them, and what a
command line does besides what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from nanobot.config.settings.tools import ExecSettings
from nanobot.seam.faces import Interface
from nanobot.tools.base import AnyTool
from nanobot.workspace.taint import TaintedFiles


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
ESCAPES: Interface[Callable[[str, str], bool]] = Interface(name="escapes")
"""Whether a command that matches a pattern does more than it says."""
