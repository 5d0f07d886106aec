"""The search for the messages of conversations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol


class MessageSearch(Protocol):
    """Finds conversations by their messages. The plugin `search` offers it."""

    async def saying(self, find: str, *, keys: Collection[str] | None) -> Mapping[str, str]:
        """The sessions with messages that contain all these words, each with a sentence around
        them. `keys` limits the search to these sessions (None: all).
        """
