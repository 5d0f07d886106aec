"""A memory and a starter of runs that write down what they are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from nanobot.agent.runner import Before
from nanobot.agent.stages.helpers import AuxiliaryModels
from nanobot.agent.stages.recall import AskingRecall, AutoRecall, Recall
from nanobot.agent.stages.stages import Stages
from nanobot.agent.stages.triage import Triage, TriageContext
from nanobot.config.settings.agent import DecisionSettings
from nanobot.errors import NanobotError, ToolError
from nanobot.memory.port import Kind, MemoryHit, MemoryView, SavedMemory, State
from nanobot.session.provenance import Provenance
from nanobot.session.store_write import StoreWrite
from nanobot.session.tasks import TaskRequest
from nanobot.testing.gateway import FakeGateway


class FakeMemory:
    """See MemoryPort. Everything in a scope that shares a word with the query fits."""

    def __init__(self, facts: str = "") -> None:
        self.texts: dict[str, list[tuple[str, Provenance, State, Kind]]] = {}
        self.asked: list[tuple[str, str]] = []
        self.saves = 0
        self.fails: NanobotError | None = None
        self._facts = facts

    def know(self, scope: str, *texts: str, tainted: bool = False) -> None:
        """Have these texts."""
        for text in texts:
            kept = (text, Provenance(tainted=tainted), "active", "note")
            self.texts.setdefault(scope, []).append(kept)  # type: ignore[arg-type]

    async def search(self, scope: str, query: str, top_k: int = 5) -> list[MemoryHit]:
        self.asked.append((scope, query))
        if self.fails is not None:
            raise self.fails
        words = set(query.lower().split())
        return [
            MemoryHit(id=number, text=text, score=1.0, provenance=provenance, kind=kind)
            for number, (text, provenance, state, kind) in enumerate(self.texts.get(scope, []))
            if state == "active" and words & set(text.lower().split())
        ][:top_k]

    async def save(
        self,
        scope: str,
        text: str,
        provenance: Provenance,
        *,
        state: State = "active",
        kind: Kind = "note",
    ) -> SavedMemory:
        self.saves += 1
        if self.fails is not None:
            raise self.fails
        kept = self.texts.setdefault(scope, [])
        for number, (other, _, theirs, _) in enumerate(kept):
            if other == text:
                return SavedMemory(id=number, state=theirs, fresh=False)
        kept.append((text, provenance, state, kind))
        return SavedMemory(id=len(kept), state=state, fresh=True)

    async def curated(self, scope: str) -> str:
        if self.fails is not None:
            raise self.fails
        return self._facts

    async def forget(self, identity: int, scope: str | None = None) -> MemoryView:
        raise NanobotError("not here")

    async def correct(self, identity: int, text: str, scope: str | None = None) -> MemoryView:
        raise NanobotError("not here")

    async def accept(self, identity: int, scope: str | None = None) -> MemoryView:
        raise NanobotError("not here")

    async def reject(self, identity: int, scope: str | None = None) -> MemoryView:
        raise NanobotError("not here")

    async def show(self, identity: int, scope: str | None = None) -> MemoryView:
        raise NanobotError("not here")

    async def listed(
        self, *, scopes: Sequence[str] | None, state: str = "", limit: int = 50, find: str = ""
    ) -> list[MemoryView]:
        return []


class FakeStarter:
    """See TaskStarter: the same key is the same run."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.started: dict[str, TaskRequest] = {}
        self.calls = 0

    @property
    def types(self) -> tuple[str, ...]:
        return ("sleep", "agent")

    async def start(self, wanted: TaskRequest) -> str:
        self.calls += 1
        if self.refuses:
            raise ToolError(self.refuses)
        self.started.setdefault(wanted.key, wanted)
        return f"task-{wanted.key}"

    async def prepare(self, wanted: TaskRequest) -> tuple[str, StoreWrite]:
        raise ToolError("nothing is started with anything else here")


def triage(
    starter: FakeStarter, memory: FakeMemory | None = None, **settings: object
) -> Callable[[FakeGateway], Before]:
    """A gateway's triage."""
    wanted = msgspec.convert(settings, DecisionSettings)

    def before(bot: FakeGateway) -> Before:
        async def recent(session_key: str, limit: int) -> list[str]:
            runs = await bot.records.runs(session=session_key, state="", limit=limit)
            return [f"{run.id}: {run.state}" for run in runs]

        helpers, clock = AuxiliaryModels(bot.provider), bot.home.clock
        view = TriageContext(memory, recent)
        return Stages(Triage(helpers, starter, clock, wanted, view))

    return before


def recalling(memory: FakeMemory, top_k: int = 5) -> Callable[[FakeGateway], Before]:
    """Memory is searched before the first model call."""

    def before(bot: FakeGateway) -> Before:
        helpers, recall = AuxiliaryModels(bot.provider), Recall(memory, top_k)
        return Stages(auto=AutoRecall(recall, helpers, bot.home.clock))

    return before


def asking(memory: FakeMemory, rounds: int = 3) -> Callable[[FakeGateway], Before]:
    """The model may ask memory."""

    def before(bot: FakeGateway) -> Before:
        recall = AskingRecall(Recall(memory, 5), AuxiliaryModels(bot.provider), rounds)
        bot.tools.register(recall.tool())
        return Stages(asking_recall=recall)

    return before
