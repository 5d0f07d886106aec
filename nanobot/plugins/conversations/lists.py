"""The list of conversations: titles, pins and archive."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import msgspec

from nanobot.operations.operation import OperationContext
from nanobot.plugins.common.message_search import MessageSearch
from nanobot.plugins.common.views.views import SessionView


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects conversations."""

    unread: bool = False
    """Only those with unread messages."""
    find: str = ""
    """Only those that contain these words in their name or title, or in a message if the plugin
    `search` is on."""
    once: bool = False
    """Also single messages sent from the shell."""
    archived: bool | None = False
    """True lists only archived ones, False excludes them, None lists both."""
    keys: Collection[str] | None = None
    """Only these sessions (None: all)."""


class ConversationList(Protocol):
    """The conversations of a store as people list and mark them. Methods that change a session
    return False if it does not exist.
    """

    async def listed(
        self, which: Filter, messages: MessageSearch | None = None, *, limit: int, skip: int = 0
    ) -> list[SessionView]:
        """Pinned conversations first, then the most recently changed; skips the first `skip`.
        Without `messages`, words are looked for in names and titles alone."""

    async def rename(self, key: str, title: str) -> bool:
        """Set a person's title for a session; "" restores the title from its first message."""

    async def pin(self, key: str, *, pinned: bool) -> bool:
        """Pin a session to the top of the list, or unpin it."""

    async def archive(self, key: str, *, archived: bool) -> bool:
        """Hide a session from lists until it gets a new message."""

    async def mark_read(self, key: str, entry: int | None = None) -> bool:
        """Mark a session as read up to an entry (None: entirely). After all of it is read, nothing
        there waits for a terminal any more, except questions."""


def listing_of(context: OperationContext) -> ConversationList:
    """The list of the gateway in which an operation runs."""
    return context.of(ConversationList)  # type: ignore[type-abstract]
