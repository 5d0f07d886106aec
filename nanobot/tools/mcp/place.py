"""Where the program of a server works: nothing that a model can write is on its way to code."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nanobot.tools.mcp.connection_state import ServerTrouble

# Without these hardly a program starts; everything else of ours stays here.
_INHERITED = ("PATH", "HOME")
# Python imports nothing from the folder it is started in, nor from one below HOME.
_PYTHON = {"PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": "1"}
_CODE = frozenset(
    {".bash", ".cjs", ".jar", ".js", ".lua", ".mjs", ".php", ".pl", ".ps1", ".py", ".pyz", ".rb"}
    | {".sh", ".ts", ".tsx", ".wasm", ".zsh"}
)


class ServerPlace(NamedTuple):
    """`folder` has a folder for each server's program, `workspace` is what models write."""

    folder: Path
    workspace: Path

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What programs get of our environment: no search path that leads into the workspace."""
        base = {name: environ[name] for name in _INHERITED if name in environ}
        if "PATH" in base:
            folders = base["PATH"].split(os.pathsep)
            base["PATH"] = os.pathsep.join(one for one in folders if self._is_outside(one))
        return base | _PYTHON

    def enter(self, name: str, command: Sequence[str], search_path: str) -> Path:
        """The folder that the program of server `name` is started in. Raises ServerTrouble for a
        program, or a script, that lies in the workspace."""
        folder = self.folder / name
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ServerTrouble(f"its folder {folder} cannot be made ({error.strerror})") from error
        program = shutil.which(command[0], path=search_path) or command[0]
        scripts = [word for word in command[1:] if Path(word).suffix.lower() in _CODE]
        for word in (program, *scripts):
            if self._leads_in(folder / word):
                raise ServerTrouble(
                    f"{word} lies in the workspace, where conversations may write: move it out, "
                    "with all that it loads, and name its new place in the configuration"
                )
        return folder

    def _is_outside(self, path: str) -> bool:
        return Path(path).is_absolute() and not self._leads_in(Path(path))

    def _leads_in(self, path: Path) -> bool:
        workspace = self.workspace.resolve()
        return path.absolute().is_relative_to(workspace) or path.resolve().is_relative_to(workspace)
