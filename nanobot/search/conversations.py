"""What some people may see of the conversations of a store, and the search for their messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from nanobot.session.views import RunView


class MessageSearch(Protocol):
    """Finds conversations by their messages. The plugin `search` offers it."""

    async def saying(self, find: str, *, keys: Collection[str] | None) -> Mapping[str, str]:
        """The sessions with messages that contain all these words, each with a sentence around
        them. `keys` limits the search to these sessions (None: all).
        """
        ...


class Conversations(Protocol):
    """The conversations of a store, for those who see some of them only."""

    async def keys(self, prefix: str) -> Sequence[str]:
        """The sessions whose names start with this prefix, most recently changed first; at most
        1,000.
        """
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
        that starts with one of them that ends with a colon, and runs started from those sessions;
        None: all runs.
        """
        ...

    async def names_file(self, key: str, chat: str, digest: str) -> bool:
        """Whether a session's log has a file with this digest, or its web chat was sent one."""
        ...
