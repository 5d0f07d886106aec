"""What a search finds, and the port to it."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Protocol

import msgspec


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A search hit: a message of a session, with the sentence around the match split in three."""

    SHOWN: ClassVar[tuple[str, ...]] = ("session_key", "title", "at", "sentence")

    id: int
    """To get the next page, ask for hits before it."""
    session_key: str
    title: str
    seq: int
    """Its log entry."""
    run_id: str
    at: float
    kind: str
    by: str
    """The person who said it, "" for the assistant."""
    before: str
    match: str
    after: str

    @property
    def sentence(self) -> str:
        """The whole sentence."""
        return f"{self.before}{self.match}{self.after}"


class Search(Protocol):
    """Finds what was said in conversations."""

    async def search(
        self, query: str, *, keys: Collection[str] | None, before: int, limit: int
    ) -> list[SearchHit]:
        """Messages that contain all these words (phrases in double quotes), newest first. `before`:
        only hits with a smaller id (0: all). `keys` limits the search to these sessions (None:
        all).
        """
