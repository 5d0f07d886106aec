"""The language of each chat: what its people chose, and what its platform reports."""

from __future__ import annotations

from typing import cast

import msgspec

from nanobot.messages import Address
from nanobot.plugins.common.translation import known_language
from nanobot.plugins.language.settings import Language
from nanobot.ports import Clock
from nanobot.seam.tables import PluginTables
from nanobot.system import SystemClock

_REMEMBERED = 10_000
_REMEMBERED_SECONDS = 600.0
"""After this long a report is written again: the chat may have been erased meanwhile."""
_READ = "SELECT chosen, reported FROM language_chats WHERE chat = :chat"
_ENSURE = (
    "INSERT INTO language_chats (chat, chosen, reported) VALUES (:chat, '', '') "
    "ON CONFLICT (chat) DO NOTHING"
)
_CHOOSE = "UPDATE language_chats SET chosen = :language WHERE chat = :chat"
_REPORT = "UPDATE language_chats SET reported = :language WHERE chat = :chat"
_REPORT_FIRST = f"{_REPORT} AND reported = ''"


class Known(msgspec.Struct, frozen=True):
    """What is known of a chat; "" where nothing is."""

    chosen: str = ""
    reported: str = ""


class ChatLanguages:
    """The languages of all chats, in the plugin's table. Writes happen only when something has
    changed."""

    def __init__(self, tables: PluginTables, clock: Clock | None = None) -> None:
        self._tables = tables
        self._clock = clock or SystemClock()
        self._reported: dict[str, tuple[str, float]] = {}

    async def known(self, chat: str) -> Known:
        """What is known of a chat."""
        rows = await self._tables.rows(_READ, chat=chat)
        return Known(rows[0]["chosen"], rows[0]["reported"]) if rows else Known()

    async def choose(self, chat: str, language: str) -> None:
        """Keep what the chat's people chose; "": its platform decides again."""
        await self._tables.change(_ENSURE, chat=chat)
        await self._tables.change(_CHOOSE, chat=chat, language=language)

    async def report(self, address: Address, reported: str, *, group: bool) -> None:
        """Keep the language of a sender, as the platform names it, if nanobot has texts in it. A
        group keeps the first one, so that it has one language."""
        chat, language = name_of(address), known_language(reported)
        kept, until = self._reported.get(chat, ("", 0.0))
        now, what = self._clock.monotonic(), "group" if group else language
        if not language or (kept == what and now < until):
            return
        await self._tables.change(_ENSURE, chat=chat)
        await self._tables.change(_REPORT_FIRST if group else _REPORT, chat=chat, language=language)
        if len(self._reported) >= _REMEMBERED:
            self._reported.clear()
        self._reported[chat] = (what, now + _REMEMBERED_SECONDS)


def name_of(address: Address) -> str:
    """A chat's name in the table; its threads share its language."""
    return f"{address.channel}:{address.chat_id}"


def language_of_chat(known: Known, default: Language) -> Language:
    """The language of a chat."""
    return cast("Language", known.chosen or known.reported or default)
