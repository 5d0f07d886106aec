"""A long session, and how much of what it sends was sent before, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import msgspec

from nanobot.agent.prompt import PromptAddition
from nanobot.agent.runner import Stage
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.file_tools.tools import file_tools
from nanobot.plugins.memory.recall import AutoRecall, Recall
from nanobot.plugins.skills.service import parts_of
from nanobot.plugins.skills.skills import Skills
from nanobot.plugins.skills.tool import skill_tool
from nanobot.plugins.triage.settings import DecisionSettings
from nanobot.plugins.triage.triage import Triage, TriageContext
from nanobot.providers.base import Completion, ModelRequest
from nanobot.session.entries import RecallEntry, TriageEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.workspace import folder as workspace
from tests.plugins.memory.kept import memory_of, remembering

TURNS = 50


def sent(request: ModelRequest) -> bytes:
    """Tools and messages in the order in which providers cache them."""
    return msgspec.json.encode((request.tools, request.messages))


def shared(before: bytes, after: bytes) -> int:
    return next(
        (at for at, (x, y) in enumerate(zip(before, after, strict=False)) if x != y),
        min(len(before), len(after)),
    )


def is_triage(request: ModelRequest) -> bool:
    return str(request.messages[0].content).startswith("You decide what an assistant does")


def thinking(bot: FakeGateway) -> list[Stage]:
    """Every stage there is before acting."""
    helpers, clock = AuxiliaryModels(bot.provider), bot.home.clock
    view = TriageContext(bot.brought.lasting, None)
    triage = Triage(helpers, bot.starter, clock, DecisionSettings(), view)
    recall = AutoRecall(Recall(memory_of(bot), 5), helpers, clock)
    return [triage, recall.add]


def remembering_with_skills(folder: Path) -> Callable[[FakeGateway], Brought]:
    """Prompts contain the memory of a workspace, and its skills."""

    def brings(bot: FakeGateway) -> Brought:
        brought = remembering(folder)(bot)
        skills = PromptAddition(last=parts_of(folder))
        return msgspec.structs.replace(brought, additions=(*brought.additions, skills))

    return brings


async def sent_again(folder: Path) -> float:
    """The share of what runs send that was sent before, over a session of TURNS turns with memory,
    recall and triage (whose own calls are small, and apart); every fifth of them calls a tool,
    which changes a file of the prompt."""
    workspace.prepare(folder)
    script: list[Completion | str] = []
    for turn in range(TURNS):
        if turn % 5 == 4:
            note = f"- What people ask in question {turn} is a thing to remember"
            script.append(asks_for("write_file", path="MEMORY.md", content=note))
        script.append(f"This is the answer to question {turn}, in a sentence or two, as usual.")
    tools = [*file_tools(ConfinedFiles(folder)), skill_tool(Skills(folder))]
    answers = iter(script)
    provider = ScriptedProvider(
        otherwise=lambda request: "{}" if is_triage(request) else next(answers)
    )
    options = Options(workspace=folder, brings=remembering_with_skills(folder), stages=thinking)
    async with gateway(provider, tools=tools, options=options) as bot:
        for turn in range(TURNS):
            await bot.channel.push(f"Here is question {turn}, of ordinary length, as people ask.")
            await bot.channel.pop()
        thoughts = [entry.body for entry in bot.home.entries("fake:1")]
    if sum(isinstance(thought, TriageEntry) for thought in thoughts) != TURNS:
        raise AssertionError("not every turn was triaged")
    if sum(isinstance(thought, RecallEntry) for thought in thoughts) != TURNS // 5 - 1:
        raise AssertionError("memory added something twice, or nothing")
    requests = [sent(request) for request in provider.requests if not is_triage(request)]
    if len(requests) != TURNS + TURNS // 5:
        raise AssertionError(f"the model was asked {len(requests)} times")
    again = sum(shared(before, after) for before, after in pairwise(requests))
    return again / sum(map(len, requests[1:]))
