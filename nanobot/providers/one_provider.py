"""A single provider for every model."""

from __future__ import annotations

from nanobot.providers.base import LLMProvider, ModelProfile


class OneProvider:
    """See Models: labels are the provider's own model names. Without a label it is `model`, or the
    provider's `default_model`.
    """

    def __init__(self, provider: LLMProvider, model: str | None = None) -> None:
        self._provider = provider
        self._model = model or str(getattr(provider, "default_model", ""))

    async def pick(self, label: str | None) -> tuple[LLMProvider, ModelProfile]:
        return self._provider, self._provider.profile(label or self._model)
