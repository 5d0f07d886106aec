"""Vectors from a model: of an OpenAI-compatible endpoint, or by its provider's own API.

https://platform.openai.com/docs/api-reference/embeddings/create
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from nanobot.errors import ConfigError
from nanobot.plugins.common.models.endpoints import HasEndpoint
from nanobot.providers.openai_errors import failure_of_protocol
from nanobot.providers.registry import ProviderRegistry
from nanobot.providers.retrying import Endpoint

_MAX_BYTES = 64_000_000


@runtime_checkable
class Embeds(Protocol):
    """A provider that makes embeddings with an API of its own."""

    async def embed(self, texts: Sequence[str], model: str) -> list[list[float]]:
        """A vector for each text, in the same order. Raises ModelError."""


class ProviderEmbedder:
    """Makes embeddings with one model; see nanobot.providers.embedding.Embedder."""

    def __init__(self, registry: ProviderRegistry, label: str, least: float) -> None:
        self.model, self.least = label, least
        self._registry = registry

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text. Raises ModelError, or ConfigError if the provider makes no
        embeddings."""
        provider, profile = await self._registry.pick(self.model)
        if isinstance(provider, Embeds):
            return await provider.embed(texts, profile.name)
        if isinstance(provider, HasEndpoint):
            return await embed(texts, provider.endpoint(profile.name))
        raise ConfigError(
            f"memory.embedding_model is {self.model!r}, which makes no vectors: "
            'name another, such as "openai/text-embedding-3-small", or "local"'
        )


class _Vector(msgspec.Struct):
    embedding: list[float]
    index: int = 0


class _Vectors(msgspec.Struct):
    data: list[_Vector]


async def embed(texts: Sequence[str], endpoint: Endpoint) -> list[list[float]]:
    """A vector for each text. Makes up to three attempts if a retry may help; raises the ModelError
    of the last.
    """
    # Imports aiohttp, which the first call needs and a start does not.
    from nanobot.plugins.common.models.openai_once import SingleRequest, ask_once  # noqa: PLC0415

    model = endpoint.speaker.model
    request = {"model": model, "input": list(texts), "encoding_format": "float"}
    call = SingleRequest(
        path="embeddings",
        body=msgspec.json.encode(request),
        answer=_Vectors,
        max_bytes=_MAX_BYTES,
    )
    rows = (await ask_once(call, endpoint)).data
    if len(rows) != len(texts):
        problem = f"{len(rows)} vectors for {len(texts)} texts"
        raise failure_of_protocol(endpoint.speaker, problem).error
    return [row.embedding for row in sorted(rows, key=lambda row: row.index)]
