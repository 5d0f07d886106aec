"""A memory over a folder and a store, and models that make vectors as told."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from nanobot.errors import ModelError
from nanobot.plugins.common.models.embedding import Embedder
from nanobot.plugins.memory.files import MemoryFiles
from nanobot.plugins.memory.index import Memory, MemoryOptions
from nanobot.session.lasting import Provenance
from tests.store.home import Home

EVE, BOB = "people/telegram/666", "people/telegram/7"
NOBODY = Provenance()


def memory(
    home: Home, workspace: Path, embedder: Embedder | None = None, max_file_chars: int = 8_000
) -> Memory:
    """As a process that starts has it."""
    files = MemoryFiles(workspace)
    return Memory(
        files, home.memories(), home.clock, embedder, MemoryOptions(max_file_chars=max_file_chars)
    )


async def found(memory: Memory, scope: str, query: str) -> list[str]:
    """What a search finds."""
    return [view.text for view in await memory.search(scope, query, 20)]


class WordEmbedder:
    """Vectors by words: texts with a word in common are near. `failing` texts cannot be embedded;
    while `down`, none can."""

    def __init__(self, model: str = "test/words") -> None:
        self.model, self.least = model, 0.25
        self.down = False
        self.failing: frozenset[str] = frozenset()
        self.synonyms: dict[str, str] = {}
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        if self.down or self.failing & set(texts):
            raise ModelError("no vectors today")
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * 64
        for word in text.lower().split():
            meant = self.synonyms.get(word, word)
            vector[hashlib.sha256(meant.encode()).digest()[0] % 64] += 1.0
        return vector
