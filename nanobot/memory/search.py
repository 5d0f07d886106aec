"""Search: by words and by meaning, merged by reciprocal rank fusion."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from loguru import logger

from nanobot.errors import NanobotError
from nanobot.memory.embed import MAX_CHARS, Embedder
from nanobot.memory.port import MemoryHit
from nanobot.memory.records import MemoryStore, Vectors
from nanobot.memory.terms import query_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RRF_K = 60
"""Cormack, Clarke, Büttcher: Reciprocal Rank Fusion (SIGIR 2009)."""
POOL = 50
"""How many each way of searching contributes."""
MAX_QUERY = 4_000

_PATIENCE_SECONDS = 5.0
# What has less in common with the question than this only looks like an answer.
_LEAST = 0.25
_SCOPES = 32


class Search:
    """Finds memories. Without an embedder, or when it fails, by words alone."""

    def __init__(self, store: MemoryStore, embedder: Embedder | None) -> None:
        self._store = store
        self._embedder = embedder
        self._matrices: OrderedDict[str, tuple[Vectors, NDArray[np.float32]]] = OrderedDict()

    async def search(self, scope: str, query: str, top_k: int) -> list[MemoryHit]:
        """The best, the best first."""
        query = query[:MAX_QUERY]
        rankings = [await self.by_words(scope, query), await self.by_meaning(scope, query)]
        return await self._store.get(scope, merged(rankings)[:top_k])

    async def by_words(self, scope: str, query: str) -> list[int]:
        """The ids that full text finds, the best first."""
        return await self._store.find(scope, query_terms(query), POOL)

    async def by_meaning(self, scope: str, query: str) -> list[int]:
        """The ids that are near in meaning, the nearest first; none if that cannot be told."""
        if self._embedder is None or not query.strip():
            return []
        try:
            found = await self._vectors(scope, self._embedder.model)
            if found is None:
                return []
            async with asyncio.timeout(_PATIENCE_SECONDS):
                (vector,) = await self._embedder.embed([query[:MAX_CHARS]])
        except (NanobotError, TimeoutError) as error:
            why = str(error) or "no vector in time"
            logger.warning("memory is searched by words alone: {}", why)
            return []
        return await asyncio.to_thread(_nearest, found[0].ids, found[1], vector)

    async def _vectors(self, scope: str, model: str) -> tuple[Vectors, NDArray[np.float32]] | None:
        """A scope's vectors as a matrix, kept until they change."""
        held = self._matrices.get(scope)
        fresh = await self._store.vectors(scope, model, held[0].stamp if held else "")
        if fresh is not None:
            held = (fresh, await asyncio.to_thread(_matrix, fresh))
            self._matrices[scope] = held
        self._matrices.move_to_end(scope)
        while len(self._matrices) > _SCOPES:
            self._matrices.popitem(last=False)
        return held if held is not None and held[0].ids else None


def merged(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """Ids with their scores: the sum of 1/(60 + rank) over the rankings they are in."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, identity in enumerate(ranking, 1):
            scores[identity] = scores.get(identity, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores.items(), key=lambda one: -one[1])


def packed(vector: Sequence[float]) -> bytes:
    """A vector as it is kept: of length 1, as 32-bit floats."""
    import numpy as np  # noqa: PLC0415 - comes with an extra

    made = np.asarray(vector, dtype="<f4")
    length = float(np.linalg.norm(made))
    if made.ndim != 1 or not np.isfinite(length) or length == 0:
        raise NanobotError("the embedding model gave no usable vector")
    return bytes((made / length).astype("<f4").tobytes())


def _matrix(found: Vectors) -> NDArray[np.float32]:
    import numpy as np  # noqa: PLC0415 - comes with an extra

    if not found.vectors:
        return np.zeros((0, 0), dtype="<f4")
    return np.frombuffer(b"".join(found.vectors), dtype="<f4").reshape(len(found.vectors), -1)


def _nearest(ids: Sequence[int], matrix: NDArray[np.float32], vector: Sequence[float]) -> list[int]:
    import numpy as np  # noqa: PLC0415 - comes with an extra

    asked = np.frombuffer(packed(vector), dtype="<f4")
    if matrix.shape[1] != asked.shape[0]:
        return []
    scores = matrix @ asked
    best = np.argsort(-scores, kind="stable")[:POOL]
    return [ids[int(at)] for at in best if scores[at] >= _LEAST]
