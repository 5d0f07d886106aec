"""What is the owners' alone in the workspace is out of reach of tools wherever others read."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nanobot.errors import ToolError
from nanobot.messages import Address, Role
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.file_readers import installed_readers
from nanobot.plugins.common.privacy import private_paths
from nanobot.plugins.file_tools.service import tools as gateway_tools
from nanobot.plugins.sending.service import message_tools
from nanobot.plugins.shell.exec import ExecOptions, exec_tool
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap, find_bwrap
from nanobot.plugins.shell.sandbox.sandbox import Sandbox
from nanobot.tools.base import CallContext
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace.blobs import Blobs

SECRET = "the safe opens with 7731"
OWNER = CallContext(
    run_id="r1",
    session_key="telegram:1001",
    address=Address("telegram", "1001"),
    sender_id="1001",
    role=Role.OWNER,
    key="r1:1:0",
    private=True,
)
OTHERS = {
    "an owner in a group": msgspec.structs.replace(OWNER, private=False),
    "a member alone": msgspec.structs.replace(OWNER, role=Role.MEMBER, sender_id="7"),
}
FILES = ("MEMORY.md", "USER.md", "memory/2027-01-15.md", "memory/people/telegram/666/MEMORY.md")


@pytest.fixture
def tools(tmp_path: Path) -> ToolRegistry:
    workspace = tmp_path / "workspace"
    for name in FILES:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(f"- {SECRET}\n")
    (workspace / "link.md").symlink_to("MEMORY.md")
    (workspace / "same.md").hardlink_to(workspace / "MEMORY.md")
    (workspace / "common.txt").write_text("for everybody")
    registry = ToolRegistry()
    registry.blobs = Blobs(tmp_path / "blobs")
    files, taint = ConfinedFiles(workspace), TaintedFiles(workspace, MemoryMarks())
    sending = message_tools(files, {"telegram"})
    for tool in (*gateway_tools(files, taint, installed_readers()), *sending):
        registry.register(tool)
    sandbox = Sandbox(Bubblewrap(find_bwrap()), apart=private_paths(workspace))
    registry.register(exec_tool(sandbox, workspace, ExecOptions()))
    return registry


async def seen(tools: ToolRegistry, context: CallContext, name: str, **arguments: object) -> str:
    """What a call shows, refused or not."""
    given = msgspec.json.encode(arguments).decode()
    try:
        return await tools.execute(name, given, context)
    except ToolError as error:
        return str(error)


@pytest.mark.parametrize("who", OTHERS)
async def test_no_file_tool_shows_them_to_others(tools: ToolRegistry, who: str) -> None:
    for path in (*FILES, "link.md", "same.md", "x/../MEMORY.md"):
        assert SECRET not in await seen(tools, OTHERS[who], "read_file", path=path)
        text = await seen(tools, OTHERS[who], "message", content="see", files=[path])
        assert "queued" not in text
        text = await seen(tools, OTHERS[who], "edit_file", path=path, old_text="-", new_text="+")
        assert SECRET not in text
    assert SECRET not in await seen(tools, OTHERS[who], "search_files", pattern="safe")
    assert "2027" not in await seen(tools, OTHERS[who], "list_dir", path="memory")
    assert "2027" not in await seen(tools, OTHERS[who], "list_dir", glob="**/*.md")
    assert await seen(tools, OTHERS[who], "read_file", path="common.txt") == "for everybody"


@pytest.mark.parametrize("who", OTHERS)
async def test_no_command_shows_them_to_others(tools: ToolRegistry, who: str) -> None:
    text = await seen(tools, OTHERS[who], "exec", command="cat MEMORY.md USER.md; grep -r 7731 . ")
    lines = [line for line in text.splitlines() if SECRET in line]
    # A hard link is a file of its own to a mount; only a command in an owner's chat can make one.
    assert all("same.md" in line for line in lines)
    assert "for everybody" in await seen(tools, OTHERS[who], "exec", command="cat common.txt")


async def test_an_owner_alone_has_them_all(tools: ToolRegistry) -> None:
    for path in (*FILES, "link.md"):
        assert SECRET in await seen(tools, OWNER, "read_file", path=path)
    assert SECRET in await seen(tools, OWNER, "search_files", pattern="safe")
    assert SECRET in await seen(tools, OWNER, "exec", command="cat MEMORY.md")
    assert "queued" in await seen(tools, OWNER, "message", content="see", files=["MEMORY.md"])
