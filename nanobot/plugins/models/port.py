"""What a provider may be able to do for checks of names."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class ListsModels(Protocol):
    """A provider whose endpoint lists its models."""

    async def models(self) -> list[str] | None:
        """The names in the list; None if there is no list within five seconds."""
