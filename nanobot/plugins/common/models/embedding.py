"""Embeddings: texts as vectors, so that their meanings can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Makes vectors. Vectors of different `model`s cannot be compared. `least`: the cosine below
    which two texts are unrelated; each model has its own.
    """

    model: str
    least: float

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text. Raises ModelError or ConfigError."""
