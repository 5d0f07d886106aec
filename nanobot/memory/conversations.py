"""Conversations as people find them again: by their titles, their marks and what was said there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from nanobot.session.views import RunView, SessionView


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """Something said in a session, with the sentence around the words that were searched for:
    `before`, `match` and `after` it. `seq` is its entry; `by` is the person who said it, "" if the
    assistant did. Hits before `id` are the next page."""

    id: int
    session_key: str
    title: str
    seq: int
    run_id: str
    at: float
    kind: str
    by: str
    before: str
    match: str
    after: str

    @property
    def sentence(self) -> str:
        """The whole of it."""
        return f"{self.before}{self.match}{self.after}"


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which conversations are listed: only those with something `unread`; those with the words of
    `find` in name or title, or said there; with `once` those of a single message from the shell;
    only `archived` ones (False: none of them, None: those too); only these `keys` (None: all)."""

    unread: bool = False
    find: str = ""
    once: bool = False
    archived: bool | None = False
    keys: Collection[str] | None = None


class Conversations(Protocol):
    """The conversations of a store. Those that change something return False where there is no such
    session."""

    async def listed(self, which: Filter, *, limit: int, skip: int = 0) -> list[SessionView]:
        """The pinned ones first, then those that changed last; behind the first `skip`."""
        ...

    async def search(
        self, query: str, *, keys: Collection[str] | None, before: int, limit: int
    ) -> list[SearchHit]:
        """What was said that has all these words (phrases in double quotes), the newest first, of
        what is before a hit's id (0: of all), in these sessions (None: in all)."""
        ...

    async def rename(self, key: str, title: str) -> bool:
        """Keep a person's title for a session; "": the title of its first message again."""
        ...

    async def pin(self, key: str, *, pinned: bool) -> bool:
        """List a session first, or no longer."""
        ...

    async def archive(self, key: str, *, archived: bool) -> bool:
        """Leave a session out of lists until something new is said there."""
        ...

    async def keys(self, prefix: str) -> Sequence[str]:
        """The sessions whose names begin so, those that changed last first; at most a thousand."""
        ...

    async def runs(
        self,
        *,
        session: str,
        state: str,
        limit: int,
        kind: str = "",
        find: str = "",
        within: Sequence[str] | None,
    ) -> list[RunView]:
        """See Records.runs. `within`: only runs of sessions with one of these names, or with a name
        that begins with one of them that ends with a colon, and runs that were started there; None:
        of all."""
        ...

    async def names_file(self, key: str, chat: str, digest: str) -> bool:
        """Whether a session's log has a file with this digest, or its chat of the page was sent
        one."""
        ...
