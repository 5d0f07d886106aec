"""What a provider, or the source of models, may be able to do for checks of names."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class ListsModels(Protocol):
    """A provider whose endpoint lists its models."""

    async def models(self) -> list[str] | None:
        """The names in the list; None if there is no list within five seconds."""


@runtime_checkable
class ChecksModels(Protocol):
    """A source of models that can check names."""

    async def check(self, label: str) -> None:
        """Raises ConfigError or UsageError, with the most similar names, for a label that does not
        exist or cannot be checked.
        """
