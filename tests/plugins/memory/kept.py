"""The memory of a test gateway."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nanobot.agent.prompt import PromptAddition
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.memory.facts import KeptFacts
from nanobot.plugins.memory.files import MemoryFiles
from nanobot.plugins.memory.index import Memory
from nanobot.plugins.memory.operations import operations
from nanobot.plugins.memory.port import MemoryPort
from nanobot.plugins.memory.store.memories import SqlMemoryStore
from nanobot.testing.gateway import Brought, FakeGateway, Options


def remembering(workspace: Path, *, ask: bool = False) -> Callable[[FakeGateway], Brought]:
    """A memory in that folder: prompts contain it, and summaries add to it."""

    def brings(bot: FakeGateway) -> Brought:
        process = bot.process
        store = SqlMemoryStore(process, process.writer, SqlEraser(process, process.writer))
        memory = Memory(MemoryFiles(workspace), store, bot.home.clock)
        facts = KeptFacts(memory, ask=ask)
        return Brought(
            additions=(PromptAddition(parts=facts.parts),),
            lasting=facts,
            operations=tuple(operations()),
            offers={Memory: memory, MemoryPort: memory},
        )

    return brings


def with_memory(workspace: Path) -> Options:
    """A gateway that does nothing else."""
    return Options(workspace=workspace, brings=remembering(workspace))


def memory_of(bot: FakeGateway) -> Memory:
    return bot.offers.get(Memory)
