"""The port that removes stored data permanently. A plugin provides it, and may be off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nanobot.seam.installed import Interface

UNERASED: Interface[Callable[[str], list[str]]] = Interface("unerased")
"""What is recorded as not erased yet, for people, from the URL of the store."""


class Eraser(Protocol):
    """Removes conversations and entries with every copy of them. A removal is recorded first, so
    that no crash leaves one half done.
    """

    async def delete(self, key: str) -> int:
        """Permanently remove a session with its log, runs and messages, and those of background
        runs that began there. Returns the number of its entries. Other work does not wait for it.

        The keys of messages that arrived there are kept, so that no platform can deliver them
        again. Raises UsageError while a run is alive there, or if there is no such session.
        """

    async def erase(self, session_key: str, seq: int, by: str) -> None:
        """Permanently remove the payload of an entry, with all copies of it and the entries that
        quote it. Raises UsageError if there is no such entry."""

    async def finish(self) -> None:
        """Do all that is recorded. Raises StoreError if something newly recorded cannot be removed;
        it is tried again later."""

    def soon(self) -> None:
        """Something was recorded: do it soon."""
