"""A program's context manager, which modifies each request just before the model is called."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Protocol

from nanobot.providers.base import Delta, LLMProvider, ModelProfile, ModelRequest, Models


class ContextManager(Protocol):
    """Replaces the request that was built from the session's log: system prompt, messages, tools.
    The result must depend only on that request: after a crash, and in a replay, the same log has to
    give the same request.
    """

    def build_context(self, request: ModelRequest) -> ModelRequest:
        """The request to send."""


def managing(manager: ContextManager) -> Callable[[Models], Models]:
    """Wraps models so that the context manager modifies their requests."""
    return partial(_ManagedModels, manager)


class _ManagedModels:
    def __init__(self, manager: ContextManager, models: Models) -> None:
        self._models = models
        self._manager = manager

    async def pick(self, label: str | None) -> tuple[LLMProvider, ModelProfile]:
        """The model with that label. Raises ModelError or ConfigError."""
        provider, profile = await self._models.pick(label)
        return _Managed(provider, self._manager), profile


class _Managed(LLMProvider):
    def __init__(self, provider: LLMProvider, manager: ContextManager) -> None:
        self._provider = provider
        self._manager = manager

    def profile(self, model: str) -> ModelProfile:
        return self._provider.profile(model)

    def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        return self._provider.chat_stream(self._manager.build_context(request))

    async def close(self) -> None:
        await self._provider.close()
