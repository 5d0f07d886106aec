"""What the policy says of calls that nobody made."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nanobot.errors import UsageError
from nanobot.plugins.audit.explaining import PolicyQuestion, explain
from nanobot.plugins.audit.operations import operations
from nanobot.plugins.shell.exec import exec_tool
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap
from nanobot.plugins.shell.sandbox.sandbox import Sandbox
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, Options
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import OWNER
from nanobot.tools.registry import ToolRegistry


def registry() -> ToolRegistry:
    tools = ToolRegistry()
    tools.register(exec_tool(Sandbox(Bubblewrap(None)), Path("/nowhere")))
    return tools


@pytest.mark.parametrize(
    ("spoken", "expected"),
    [("owner", "allow"), ("owner,member", "ask"), ("guest", "ask"), ("passed-on", "allow")],
)
async def test_it_says_what_those_who_spoke_change(spoken: str, expected: str) -> None:
    tools = ToolRegistry()
    tools.register(
        msgspec.structs.replace(
            exec_tool(Sandbox(Bubblewrap(None)), Path("/nowhere")), uncontained=None
        )
    )
    explained = await explain(tools, PolicyQuestion(tool="exec", text=f"ls spoken={spoken}"))
    assert explained.verdict == expected
    assert ("others than owners" in explained.because) is (expected == "ask")


async def test_it_says_which_rule_decides_about_a_call() -> None:
    explained = await explain(
        registry(), PolicyQuestion(tool="exec", text="git push role=member tainted=yes")
    )
    assert (explained.verdict, explained.arguments) == ("ask", '{"command":"git push"}')
    assert explained.rule == "built-in: no sandbox"
    assert explained.because == "commands run without a sandbox on this machine"
    guest = await explain(
        registry(), PolicyQuestion(tool="exec", text='{"command": "ls"}', role="guest")
    )
    assert guest.verdict == "deny"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (PolicyQuestion(tool="exce", text="x"), "Did you mean exec?"),
        (PolicyQuestion(tool="exec"), "command: required"),
        (PolicyQuestion(tool="exec", text="ls spoken=owner,nobody"), "spoken: 'nobody' is not one"),
        (PolicyQuestion(tool="exec", text="{"), "cut-off JSON"),
        (
            PolicyQuestion(tool="exec", text="x role=king"),
            "role: 'king' is not one of owner, member",
        ),
    ],
)
async def test_what_cannot_be_explained_is_told(question: PolicyQuestion, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        await explain(registry(), question)
    assert reason in str(caught.value)


async def test_it_is_explained_in_a_chat() -> None:
    tools = [exec_tool(Sandbox(Bubblewrap(None)), Path("/nowhere"))]
    explaining = Options(brings=lambda _: Brought(operations=tuple(operations())))
    async with gateway(ScriptedProvider(), tools=tools, options=explaining) as bot:
        await bot.channel.push("/policy explain exec git push role=member", sender=OWNER)
        text = (await bot.channel.pop()).text
        assert "Verdict: ask" in text
        assert "Rule: built-in: no sandbox" in text
