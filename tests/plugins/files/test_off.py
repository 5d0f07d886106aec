"""A gateway whose plugin for files is off names it; files and messages are as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import UsageError
from tests.plugins.switching import asked, serving
from tests.server.housing import house

OFF = '[plugins]\noff = ["files"]\n'


async def test_its_commands_name_it_and_files_stay(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serving(home, OFF) as parts:
        (home / "workspace" / "a.txt").write_text("hello")
        assert await asked(parts, "hello") == "completed"
        for name, arguments in (("files list", {}), ("files show", {"path": "a.txt"})):
            with pytest.raises(UsageError, match=r"plugin files, which is off.*plugins on files"):
                await parts.operations.call(name, arguments)
        said = parts.operations.unknown("/files")
        assert "belongs to the plugin files, which is off here" in said
    async with serving(home) as parts:
        assert (await parts.operations.call("files show", {"path": "a.txt"})).text == "hello"


@pytest.mark.parametrize(
    ("off", "named"), [("files", "files"), ("http_api", "http_api"), ("files,http_api", "files")]
)
async def test_no_file_is_sent_while_it_or_the_api_is_off(
    off: str, named: str, tmp_path: Path
) -> None:
    web = f"[plugins]\noff = {off.split(',')}".replace("'", '"')
    async with house(tmp_path / "home", web=web) as served:
        owner = await served.owner()
        (served.home / "workspace" / "a.txt").write_text("hello")
        code, answer = await owner.get("/api/workspace", path="a.txt")
        assert (code, answer["error"]["code"]) == (404, "plugin_off")
        assert f"nanobot plugins on {named}" in answer["error"]["message"]


async def test_programs_are_told_what_is_served(tmp_path: Path) -> None:
    for web, there in (("", True), (OFF, False)):
        async with house(tmp_path / "home", web=web) as served:
            owner = await served.owner()
            _, document = await owner.get("/openapi.json")
            _, me = await owner.get("/api/me")
            assert ("/api/workspace" in document["paths"]) is there
            assert ("/api/files/list" in document["paths"]) is there
            assert ("files list" in me["operations"]) is there
            uploaded = await owner.ask("POST", "/api/uploads", params={"name": "a"}, data=b"hi")
            assert uploaded[0] == 200
