"""The list of conversations: titles, pins and archive."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from nanobot.session.views import RunView, SessionView


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects conversations. `unread`: only those with unread messages. `find`: only those that
    contain these words in their name or title, or in a message if the plugin `search` is on.
    `once`: include single messages sent from the shell. `archived`: True lists only archived ones,
    False excludes them, None lists both. `keys`: only these sessions (None: all).
    """

    unread: bool = False
    find: str = ""
    once: bool = False
    archived: bool | None = False
    keys: Collection[str] | None = None


class MessageSearch(Protocol):
    """Finds conversations by their messages. The plugin `search` offers it."""

    async def saying(self, find: str, *, keys: Collection[str] | None) -> Mapping[str, str]:
        """The sessions with messages that contain all these words, each with a sentence around
        them. `keys` limits the search to these sessions (None: all).
        """
        ...


class Conversations(Protocol):
    """The conversations of a store. Methods that change a session return False if it does not
    exist.
    """

    async def listed(self, which: Filter, *, limit: int, skip: int = 0) -> list[SessionView]:
        """Pinned conversations first, then the most recently changed; skips the first `skip`."""
        ...

    async def rename(self, key: str, title: str) -> bool:
        """Set a person's title for a session; "" restores the title from its first message."""
        ...

    async def pin(self, key: str, *, pinned: bool) -> bool:
        """Pin a session to the top of the list, or unpin it."""
        ...

    async def archive(self, key: str, *, archived: bool) -> bool:
        """Hide a session from lists until it gets a new message."""
        ...

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
