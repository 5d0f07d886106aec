"""The records: what is asked of the store besides the journal."""

from __future__ import annotations

from typing import Protocol

from nanobot.messages import Address
from nanobot.session.runs import Ending, Run


class Records(Protocol):
    """The second port of a store, next to journal.Journal. Reading changes nothing."""

    async def chats(self, channel: str) -> list[Address]:
        """The addresses where a channel's runs were requested, latest first; at most a thousand."""

    async def cancel(self, run_id: str, ending: Ending, by: str) -> Run | None:
        """End one live run, whichever process drives it. None: it is not alive."""

    async def children(self, session_key: str, sender_id: str | None) -> list[str]:
        """The live runs started from a session (by that sender), and those that these started."""

    async def arrived(self, channel: str, message_ids: tuple[str, ...]) -> list[str]:
        """Those ids that belong to delivered messages of ours on that platform."""
