"""What a provider must have for checks of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from nanobot.providers.openai_http import EndpointClient


@runtime_checkable
class ListsModels(Protocol):
    """A provider whose endpoint lists its models at that path."""

    listing: str

    def client(self, accept: str) -> EndpointClient:
        """A client of the endpoint, for answers of that type."""
