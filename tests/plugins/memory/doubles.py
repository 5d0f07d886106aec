"""A memory that writes down what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nanobot.agent.runner import Stage
from nanobot.errors import NanobotError
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.memory.port import Kind, MemoryHit, MemoryView, SavedMemory, State
from nanobot.plugins.memory.recall import AskingRecall, AutoRecall, Recall
from nanobot.session.lasting import Provenance
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


def recalling(memory: FakeMemory, top_k: int = 5) -> Callable[[FakeGateway], list[Stage]]:
    """Memory is searched before the first model call."""

    def before(bot: FakeGateway) -> list[Stage]:
        helpers, recall = AuxiliaryModels(bot.provider), Recall(memory, top_k)
        return [AutoRecall(recall, helpers, bot.home.clock).add]

    return before


def asking(memory: FakeMemory, rounds: int = 3) -> Callable[[FakeGateway], list[Stage]]:
    """The model may ask memory."""

    def before(bot: FakeGateway) -> list[Stage]:
        recall = AskingRecall(Recall(memory, 5), AuxiliaryModels(bot.provider), rounds)
        bot.tools.register(recall.tool())
        return [recall.attend]

    return before
