"""Providers with an OpenAI-compatible endpoint, for calls of its other APIs: recordings, speech,
embeddings."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from nanobot.providers.retrying import Endpoint


@runtime_checkable
class HasEndpoint(Protocol):
    """A provider with such an endpoint; `openai_once.ask_once` calls it."""

    def endpoint(self, model: str) -> Endpoint:
        """The endpoint, for calls of that model."""
