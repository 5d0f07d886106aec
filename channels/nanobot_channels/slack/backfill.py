"""Back-fill: which places to look up for messages that arrived while the bot was offline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from loguru import logger

from nanobot.messages import Address
from nanobot_channels.common.shapes import BadEvent, listed
from nanobot_channels.slack.api import WebApi, following
from nanobot_channels.slack.events import Message, convert, is_ts, order

_PAGE = 100
_THREADS_PER_CHAT = 20
# The cursor is one for all chats: what came in another chat just before it may be missing.
_OVERLAP_SECONDS = 60

Place = tuple[str, str | None]
"""A chat and a thread in it; None is the chat outside threads."""


class Bounds(msgspec.Struct, frozen=True):
    """How far a back-fill goes: `messages` of each chat, none older than `hours`."""

    messages: int = 100
    hours: float = 24.0


class Cursor(msgspec.Struct, frozen=True):
    """The latest timestamp that was taken, and that of the bot's very first start: earlier messages
    are never looked up."""

    latest: str
    first: str = "0.0"

    def __str__(self) -> str:
        return f"{self.latest} {self.first}"

    @classmethod
    def of(cls, text: str | None) -> Cursor | None:
        """The stored cursor; None if the text is none."""
        latest, _, first = (text or "").partition(" ")
        return cls(latest, first or "0.0") if is_ts(latest) and is_ts(first or "0.0") else None


class HistoryResult(msgspec.Struct, frozen=True):
    """Messages of a place in the order of time, and the threads in it that have news."""

    messages: list[dict[str, Any]]
    threads: list[Place]


def places(addresses: Iterable[Address]) -> list[Place]:
    """The places to look up, from the intake's addresses (the latest first): every chat, and the
    twenty threads of each that were used last."""
    places: dict[Place, None] = {}
    threads: dict[str, int] = {}
    for address in addresses:
        places.setdefault((address.chat_id, None))
        if address.thread_id and threads.get(address.chat_id, 0) < _THREADS_PER_CHAT:
            threads[address.chat_id] = threads.get(address.chat_id, 0) + 1
            places.setdefault((address.chat_id, address.thread_id))
    return list(places)


def since(cursor: Cursor, now: float, bounds: Bounds) -> str:
    """The timestamp from which on to look; `now` by Slack's clock."""
    overlap = order(cursor.latest)[0] - _OVERLAP_SECONDS
    earliest = f"{max(overlap, int(now - bounds.hours * 3600), 0)}.000000"
    return max(earliest, cursor.first, key=order)


class History:
    """Reads conversations. Raises ApiRefusal or NoAnswer."""

    def __init__(self, api: WebApi, name: str, bounds: Bounds) -> None:
        self._api = api
        self._name = name
        self._bounds = bounds

    async def after(self, place: Place, oldest: str) -> HistoryResult:
        """The last messages of a place that are newer than `oldest`, at most as many as bounded."""
        chat, root = place
        method = "conversations.history" if root is None else "conversations.replies"
        params: dict[str, Any] = {"channel": chat, "ts": root, "oldest": oldest}
        raw_messages: list[object] = []
        cursor = ""
        while True:
            params |= {"limit": _PAGE, "cursor": cursor or None}
            answer = await self._api.call(method, params, form=True)
            raw_messages += listed(answer.get("messages"))
            cursor = following(answer) if answer.get("has_more") else ""
            # A history comes newest first, a thread oldest first: only the first can stop early.
            if not cursor or (root is None and len(raw_messages) >= self._bounds.messages):
                break
        messages = list(self._readable(raw_messages, place, oldest))
        messages.sort(key=lambda pair: order(pair[0].ts))
        left = len(messages) - self._bounds.messages
        if left > 0 or (cursor and root is None):
            logger.warning(
                "{}: more was said in {} than backfill_messages; the oldest are left out",
                self._name,
                chat,
            )
        newest = messages[max(left, 0) :]
        threads: list[Place] = [
            (chat, message.ts)
            for message, _ in messages
            if root is None and _is_later(message.latest_reply or "", oldest)
        ]
        return HistoryResult([raw for _, raw in newest], threads)

    def _readable(
        self, raw_messages: Iterable[object], place: Place, oldest: str
    ) -> Iterator[tuple[Message, dict[str, Any]]]:
        for raw in raw_messages:
            try:
                message = convert(raw)
            except BadEvent as error:
                logger.warning("{}: a message in {} skipped: {}", self._name, place[0], error)
                continue
            # A thread comes with its root, however old.
            if not _is_later(message.ts, oldest):
                continue
            if isinstance(raw, dict) and (place[1] is None or message.ts != place[1]):
                yield message, raw


def _is_later(ts: str, oldest: str) -> bool:
    return is_ts(ts) and order(ts) > order(oldest)
