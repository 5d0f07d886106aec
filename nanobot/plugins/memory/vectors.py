"""Makes vectors for memories that have none, and again after the model was changed."""

from __future__ import annotations

from loguru import logger

from nanobot.errors import NanobotError
from nanobot.plugins.common.models.embedding import Embedder
from nanobot.plugins.memory.embed import MAX_CHARS
from nanobot.plugins.memory.records import MemoryStore
from nanobot.plugins.memory.vector_index import packed

_BATCH = 32


class Vectorizer:
    """Makes vectors. A text that the model refuses even alone is not retried by this process."""

    def __init__(self, store: MemoryStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._refused: set[int] = set()

    async def all(self) -> bool:
        """Make the missing vectors; False if the model failed and a retry is worthwhile."""
        model, done = self._embedder.model, -1
        while done:
            most = _BATCH + len(self._refused)
            missing = await self._store.without_vector(model, most)
            batch = [row for row in missing if row[0] not in self._refused][:_BATCH]
            if not batch:
                return True
            done = await self._embedded(batch)
        return False

    async def _embedded(self, batch: list[tuple[int, str]]) -> int:
        """Make vectors for these memories, or for those that the model accepts; returns how many
        were made.
        """
        try:
            texts = [text[:MAX_CHARS] for _, text in batch]
            vectors = await self._embedder.embed(texts)
            rows = [(row[0], packed(v)) for row, v in zip(batch, vectors, strict=True)]
        except (NanobotError, ValueError) as error:
            if len(batch) == 1:
                logger.warning("memory {} gets no vector: {}", batch[0][0], error)
                return 0
            count = 0
            refused = []
            for row in batch:
                if await self._embedded([row]):
                    count += 1
                else:
                    refused.append(row[0])
                    if not count:
                        break
            self._refused.update(refused if count else ())
            return count
        await self._store.embed(self._embedder.model, rows)
        return len(rows)
