"""What the attacks on files share: a home with secrets, and a workspace in it with the tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nanobot.errors import ToolError
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.file_tools.tools import file_tools
from nanobot.tools.registry import ToolRegistry
from tests.tools.browsing import CALL

SECRET = "sk-the-owners-key-4711"
# Everything a file tool does with a path; what is written or looked for shows whether it worked.
ACTS: dict[str, tuple[str, dict[str, object]]] = {
    "read": ("read_file", {}),
    "write": ("write_file", {"content": "planted"}),
    "edit": ("edit_file", {"old_text": SECRET, "new_text": "planted"}),
    "list": ("list_dir", {}),
    "glob": ("list_dir", {"glob": "*"}),
    "search": ("search_files", {"pattern": "sk-"}),
}


class Home:
    """nanobot's folder: `config.toml` with a key, and `workspace` with what attackers put there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config.toml"
        self.config.write_text(f'api_key = "{SECRET}"')
        self.workspace = folder / "workspace"
        self.use(ConfinedFiles(self.workspace, hidden=[folder, self.config]))

    def use(self, roots: ConfinedFiles) -> None:
        """Put other roots behind the tools."""
        self.registry = ToolRegistry()
        for tool in file_tools(roots):
            self.registry.register(tool)

    async def call(self, name: str, **arguments: object) -> str:
        return await self.registry.execute(name, json.dumps(arguments), CALL)

    async def refused(self, act: str, path: str) -> str:
        """Do it; it must be refused, tell no secret and change nothing."""
        name, more = ACTS[act]
        with pytest.raises(ToolError) as caught:
            await self.call(name, path=path, **more)
        assert SECRET not in str(caught.value)
        self.unharmed()
        return str(caught.value)

    def unharmed(self) -> None:
        """Nothing outside the workspace was changed or added."""
        assert self.config.read_text() == f'api_key = "{SECRET}"'
        assert {path.name for path in self.folder.iterdir()} == {"config.toml", "workspace"}
