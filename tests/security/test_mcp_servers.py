"""What a conversation may have planted in the workspace must not run as the program of a server."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.plugins.mcp.connection_state import ServerTrouble
from nanobot.plugins.mcp.place import ServerPlace
from nanobot.plugins.mcp.views import Servers

PLANTED = (
    *("sitecustomize.py", "usercustomize.py", "json.py", "typing.py", "speak.py"),
    *("bin/speak", "node_modules/.bin/speak", ".venv/bin/python"),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """nanobot's home, whose workspace holds code that leaves a file `ran` beside it."""
    for name in PLANTED:
        file = tmp_path / "workspace" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shell = "" if name.endswith(".py") else f"#!{sys.executable}\n"
        file.write_text(f"{shell}open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
        file.chmod(0o755)
    return tmp_path


async def state(home: Path, table: str, **environ: str) -> tuple[str, str]:
    """How a server of that table is, on a whole gateway, once it was started."""
    (home / "config.toml").write_text(f"[mcp.it]\n{table}\ntimeout = 20\n")
    environ = {"NANOBOT_HOME": str(home), "PATH": "/usr/bin:/bin", **environ}
    gateway = Gateway(load(environ), environ, channels=False)
    async with gateway.serving("test", lambda _: None) as parts, asyncio.timeout(60):
        while True:
            (view,) = parts.plugged.offers.get(Servers).views()
            if view.state in ("failed", "connected"):
                return view.state, view.error
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("code", ["import json, typing", "import os; os.system('speak')"])
async def test_a_program_imports_and_starts_nothing_of_the_workspace(home: Path, code: str) -> None:
    code += "; import os; open('seen', 'w').write(os.getcwd() + ' ' + os.environ['HOME'])"
    table = f'command = "{sys.executable}"\nargs = ["-c", """{code}"""]'
    workspace = home / "workspace"
    search = f"{workspace / 'bin'}:.::{workspace / 'node_modules/.bin'}:/usr/bin:/bin"
    assert (await state(home, table, PATH=search, HOME=str(workspace)))[0] == "failed"
    folder = home / "mcp" / "it"
    assert (folder / "seen").read_text() == f"{folder} {folder}"
    assert [path.name for path in folder.iterdir()] == ["seen"]
    assert not (home / "ran").exists()


@pytest.mark.parametrize(
    "table",
    [
        'command = "{workspace}/bin/speak"',
        'command = "python3"\nargs = ["{workspace}/speak.py"]',
        'command = "python3"\nargs = ["{link}/speak.py"]',
        'command = "python3"\nargs = ["../../workspace/speak.py"]',
        'command = "speak"\nenv = {{ PATH = "{workspace}/bin" }}',
    ],
)
async def test_a_program_or_script_in_the_workspace_is_refused(home: Path, table: str) -> None:
    (home / "link").symlink_to(home / "workspace")
    filled = table.format(workspace=home / "workspace", link=home / "link")
    how, why = await state(home, filled)
    assert how == "failed"
    assert "lies in the workspace, where conversations may write: move it out" in why
    assert not (home / "ran").exists()


def test_a_server_may_be_given_the_workspace_as_what_it_works_on(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    place = ServerPlace(tmp_path / "mcp", workspace)
    folder = place.enter("files", ["npx", "server-filesystem", str(workspace)], "/usr/bin")
    assert folder == tmp_path / "mcp" / "files"
    assert folder.stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "mcp").write_text("")
    with pytest.raises(ServerTrouble, match=r"its folder .* cannot be made"):
        ServerPlace(tmp_path / "mcp", tmp_path / "workspace").enter("it", ["true"], "/usr/bin")
