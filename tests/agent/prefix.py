"""A long session, and how much of what it sends was sent before, byte for byte."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec

from nanobot import workspace
from nanobot.agent.persona import Persona
from nanobot.providers.base import Completion, ModelRequest
from nanobot.skills import Skills
from nanobot.testing import Options, ScriptedProvider, asks_for, gateway
from nanobot.tools.files import file_tools
from nanobot.tools.roots import Roots
from nanobot.tools.skill import skill_tool

TURNS = 50


def sent(request: ModelRequest) -> bytes:
    """Tools and messages in the order in which providers cache them."""
    return msgspec.json.encode((request.tools, request.messages))


def shared(before: bytes, after: bytes) -> int:
    return next(
        (at for at, (x, y) in enumerate(zip(before, after, strict=False)) if x != y),
        min(len(before), len(after)),
    )


async def sent_again(folder: Path) -> float:
    """The share of what is sent that was sent before, over a session of TURNS turns; every fifth
    of them calls a tool, which changes a file of the prompt."""
    workspace.prepare(folder)
    script: list[Completion | str] = []
    for turn in range(TURNS):
        if turn % 5 == 4:
            note = f"turn {turn}: a thing to remember"
            script.append(asks_for("write_file", path="MEMORY.md", content=note))
        script.append(f"This is the answer to question {turn}, in a sentence or two, as usual.")
    tools = [*file_tools(Roots(folder)), skill_tool(Skills(folder))]
    provider = ScriptedProvider(*script)
    made = Options(persona=Persona(folder))
    async with gateway(provider, tools=tools, options=made) as bot:
        for turn in range(TURNS):
            await bot.channel.push(f"Here is question {turn}, of ordinary length, as people ask.")
            await bot.channel.pop()
    requests = [sent(request) for request in provider.requests]
    if len(requests) != TURNS + TURNS // 5:
        raise AssertionError(f"the model was asked {len(requests)} times")
    again = sum(shared(before, after) for before, after in pairwise(requests))
    return again / sum(map(len, requests[1:]))
