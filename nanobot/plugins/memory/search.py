"""Memory search: by words and by meaning, merged by reciprocal rank fusion."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from loguru import logger

from nanobot.errors import NanobotError
from nanobot.plugins.common.models.embedding import Embedder
from nanobot.plugins.memory.embed import MAX_CHARS
from nanobot.plugins.memory.port import MemoryHit
from nanobot.plugins.memory.query_terms import query_terms
from nanobot.plugins.memory.records import MemoryStore
from nanobot.plugins.memory.vector_index import VectorIndex

RRF_K = 60
"""Cormack, Clarke, Büttcher: Reciprocal Rank Fusion (SIGIR 2009)."""
POOL = 50
"""How many results each kind of search contributes."""
MAX_QUERY = 4_000

_PATIENCE_SECONDS = 5.0


class Search:
    """Finds memories. Without an embedder, or when it fails, the search uses words only."""

    def __init__(self, store: MemoryStore, embedder: Embedder | None) -> None:
        self._store = store
        self._embedder = embedder
        self._vectors = VectorIndex(store)

    async def search(self, scope: str, query: str, top_k: int) -> list[MemoryHit]:
        """The best matches, best first."""
        query = query[:MAX_QUERY]
        rankings = [await self.by_words(scope, query), await self.by_meaning(scope, query)]
        best = merged(rankings)[:top_k]
        hits = await self._store.get(scope, best)
        if len(hits) < len(best):  # another process removed some of them
            self.forget(scope)
        return hits

    def forget(self, scope: str) -> None:
        """Drop removed memories of the scope."""
        self._vectors.drop(scope)

    async def by_words(self, scope: str, query: str) -> list[int]:
        """The ids found by full text, best first."""
        return await self._store.find(scope, query_terms(query), POOL)

    async def by_meaning(self, scope: str, query: str) -> list[int]:
        """The ids nearest in meaning, nearest first; none if there are no vectors to compare."""
        if self._embedder is None or not query.strip():
            return []
        model = self._embedder.model
        try:
            if await self._vectors.is_empty(scope, model):
                return []
            async with asyncio.timeout(_PATIENCE_SECONDS):
                (vector,) = await self._embedder.embed([query[:MAX_CHARS]])
            least = self._embedder.least
            return await self._vectors.nearest(scope, model, vector, POOL, least)
        except (NanobotError, TimeoutError) as error:
            why = str(error) or "no vector in time"
            logger.warning("memory is searched by words alone: {}", why)
            return []


def merged(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """Ids with their scores: the sum of 1/(60 + rank) over the rankings that contain them."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, identity in enumerate(ranking, 1):
            scores[identity] = scores.get(identity, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores.items(), key=lambda scored: -scored[1])
