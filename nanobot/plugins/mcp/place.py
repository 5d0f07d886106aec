"""The working folder and the view of a server's program: no code is loaded from places that a model
can write, and of the machine only the grants in its table are visible.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nanobot.plugins.common.files.protected import protected_paths
from nanobot.plugins.common.walls import NetworkAccess, NoWalls, SandboxView, Walls
from nanobot.plugins.mcp.connection_state import ServerTrouble
from nanobot.plugins.mcp.settings import McpSettings

# Hardly any program starts without these; no other variable of ours is passed on.
_INHERITED = ("PATH", "HOME")
_MODULES = "node_modules"
# Python imports nothing from its working folder, nor from a folder under HOME.
_PYTHON = {"PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": "1"}
_CODE = frozenset(
    {".bash", ".cjs", ".jar", ".js", ".lua", ".mjs", ".php", ".pl", ".ps1", ".py", ".pyz", ".rb"}
    | {".sh", ".ts", ".tsx", ".wasm", ".zsh"}
)


class ServerPlace(NamedTuple):
    """Where the programs of servers run."""

    folder: Path
    """It has a subfolder for each server's program."""
    workspace: Path
    """Models write there."""
    walls: Walls = NoWalls()
    """Programs run within them."""
    protected: tuple[str, ...] = ()
    """Files in the workspace that are read-only for them."""

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The part of our environment that programs get, without search paths that lead into the
        workspace.
        """
        base = {name: environ[name] for name in _INHERITED if name in environ}
        if "PATH" in base:
            folders = base["PATH"].split(os.pathsep)
            base["PATH"] = os.pathsep.join(path for path in folders if self._is_outside(path))
        return base | _PYTHON

    def enter(self, name: str, command: Sequence[str], search_path: str) -> Path:
        """The folder in which the program of server `name` is started. Raises ServerTrouble if the
        program, or its script, is in the workspace.
        """
        folder = self.folder / name
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ServerTrouble(f"its folder {folder} cannot be made ({error.strerror})") from error
        program = shutil.which(command[0], path=search_path) or command[0]
        for word in (program, *_scripts(command)):
            if self._leads_in(folder / word):
                raise ServerTrouble(
                    f"{word} lies in the workspace, where conversations may write: move it out, "
                    "with all that it loads, and name its new place in the configuration"
                )
        return folder

    def view(self, name: str, settings: McpSettings, environment: Mapping[str, str]) -> SandboxView:
        """The sandbox view of a server's program. Raises ServerTrouble for a grant that does not
        exist or that contains nanobot's own files.
        """
        folder = self.folder / name
        user = Path(environment.get("HOME", "/")).absolute()
        guarded = (user, self.folder.parent.resolve(), self.workspace.resolve())
        read = [self._granted(f"{name}.read", path) for path in settings.read]
        write = [self._granted(f"{name}.write", path) for path in settings.write]
        program = shutil.which(settings.command, path=environment.get("PATH", os.defpath))
        needed = [] if program is None else self.walls.own_files(Path(program).absolute(), guarded)
        for word in _scripts(settings.args):
            script = Path(word)
            if script.is_absolute() and script.exists():
                # Node searches for modules starting at a link's target.
                for place in dict.fromkeys((script, script.resolve())):
                    needed += self.walls.projects_of(place, guarded)
        shared = any(self._shows_workspace(path.resolve()) for path in write)
        kept = protected_paths(self.workspace, self.protected) if shared else ()
        return SandboxView(
            folder=folder,
            home=folder,
            read=(*needed, *read),
            write=tuple(write),
            read_only=tuple(kept),
            environment={**environment, "HOME": str(folder)},
            network=NetworkAccess(mode=settings.network, hosts=settings.hosts),
        )

    def _granted(self, key: str, text: str) -> Path:
        path = Path(text).expanduser()
        if not path.exists():
            raise ServerTrouble(f"mcp.{key}: {path} is not there")
        home, workspace = self.folder.parent.resolve(), self.workspace.resolve()
        if path.resolve().is_relative_to(home) and not path.resolve().is_relative_to(workspace):
            raise ServerTrouble(f"mcp.{key}: {path} holds nanobot's own keys and conversations")
        return path

    def _shows_workspace(self, path: Path) -> bool:
        """Whether access to `path` includes the workspace, or a part of it."""
        home, workspace = self.folder.parent.resolve(), self.workspace.resolve()
        covered = workspace.is_relative_to(home) and home.is_relative_to(path)
        return path.is_relative_to(workspace) or (workspace.is_relative_to(path) and not covered)

    def _is_outside(self, path: str) -> bool:
        return Path(path).is_absolute() and not self._leads_in(Path(path))

    def _leads_in(self, path: Path) -> bool:
        workspace = self.workspace.resolve()
        return path.absolute().is_relative_to(workspace) or path.resolve().is_relative_to(workspace)


def _scripts(words: Sequence[str]) -> list[str]:
    paths = [Path(word) for word in words]
    return [
        word
        for word, path in zip(words, paths, strict=True)
        if path.suffix.lower() in _CODE or _MODULES in path.parts
    ]
