"""No tool of a package has a name that rules of the policy mean for one of nanobot's own."""

from __future__ import annotations

import msgspec
import pytest

from nanobot.errors import UsageError
from nanobot.tools.base import CallContext, Effect, Tool
from nanobot.tools.plugins import offered
from tests.tools.examples import examples

OWN = (
    *("ask_user", "call_tool", "cron", "edit_file", "exec", "find_tools", "list_dir", "mcp__x__y"),
    *("mcp_read", "memory_forget", "memory_save", "memory_search", "message", "process"),
    *("read_file", "search_files", "skill", "spawn", "web_fetch", "web_search", "write_file"),
)


class Args(msgspec.Struct, frozen=True):
    word: str


async def run(args: Args, context: CallContext) -> str:
    return args.word


@pytest.mark.parametrize("name", sorted({*OWN, *examples()}))
def test_a_package_cannot_take_a_name_of_ours(name: str) -> None:
    tool = Tool(name=name, description="Says it.", args=Args, run=run, effect=Effect.NONE)
    assert offered(tool, own=True)
    with pytest.raises(UsageError, match="is taken: it is one of nanobot's own"):
        offered(tool)
    assert offered(msgspec.structs.replace(tool, name=f"my_{name}"))
