"""Back-fill: the places in which to look for messages that arrived while the bot was offline."""

from __future__ import annotations

from collections import Counter
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
SECOND = 1_000_000
"""Positions are timestamps in microseconds."""


class Bounds(msgspec.Struct, frozen=True):
    """The extent of a back-fill: `messages` of each chat, none older than `hours`."""

    messages: int = 100
    hours: float = 24.0


class HistoryResult(msgspec.Struct, frozen=True):
    """Messages of a place in the order of time, and its threads with new messages."""

    messages: list[dict[str, Any]]
    threads: list[Address]


def places(addresses: Iterable[Address]) -> list[Address]:
    """The places to look up, from the intake's addresses (the latest first): every chat, and the
    twenty most recently used threads of each.
    """
    places: dict[Address, None] = {}
    threads = Counter[str]()
    for address in addresses:
        places.setdefault(Address(address.channel, address.chat_id))
        if address.thread_id and threads[address.chat_id] < _THREADS_PER_CHAT:
            threads[address.chat_id] += 1
            places.setdefault(address)
    return list(places)


def position(ts: str) -> int:
    """The position of a message with that timestamp."""
    seconds, part = order(ts)
    return seconds * SECOND + part


def timestamp(position: int) -> str:
    """The timestamp at a position."""
    return f"{position // SECOND}.{position % SECOND:06d}"


def cursor_of(latest: int, first: int) -> str:
    """Two positions as one text."""
    return f"{timestamp(latest)} {timestamp(first)}"


def positions_of(cursor: str) -> tuple[int, int] | None:
    """Both again; None if the text is not a cursor."""
    latest, _, first = cursor.partition(" ")
    if not is_ts(latest) or not is_ts(first or "0.0"):
        return None
    return position(latest), position(first or "0.0")


class History:
    """Reads conversations. Raises ApiRefusal or NoAnswer."""

    def __init__(self, api: WebApi, name: str, bounds: Bounds) -> None:
        self._api = api
        self._name = name
        self._bounds = bounds

    async def after(self, place: Address, oldest: str) -> HistoryResult:
        """The last messages of a place that are newer than `oldest`, at most as many as the
        limit.
        """
        chat, root = place.chat_id, place.thread_id
        method = "conversations.history" if root is None else "conversations.replies"
        params: dict[str, Any] = {"channel": chat, "ts": root, "oldest": oldest}
        raw_messages: list[object] = []
        cursor = ""
        while True:
            params |= {"limit": _PAGE, "cursor": cursor or None}
            answer = await self._api.call(method, params, form=True)
            raw_messages += listed(answer.get("messages"))
            cursor = following(answer) if answer.get("has_more") else ""
            # A history is newest first, a thread oldest first: only the first can stop early.
            if not cursor or (root is None and len(raw_messages) >= self._bounds.messages):
                break
        messages = list(self._readable(raw_messages, place, oldest))
        messages.sort(key=lambda pair: order(pair[0].ts))
        left = len(messages) - self._bounds.messages
        if left > 0 or (cursor and root is None):
            logger.warning(
                "{}: {} has more missed messages than backfill_messages; the oldest are skipped",
                self._name,
                chat,
            )
        newest = messages[max(left, 0) :]
        threads = [
            Address(place.channel, chat, message.ts)
            for message, _ in messages
            if root is None and _is_later(message.latest_reply or "", oldest)
        ]
        return HistoryResult([raw for _, raw in newest], threads)

    def _readable(
        self, raw_messages: Iterable[object], place: Address, oldest: str
    ) -> Iterator[tuple[Message, dict[str, Any]]]:
        for raw in raw_messages:
            try:
                message = convert(raw)
            except BadEvent as error:
                logger.warning("{}: a message in {} skipped: {}", self._name, place.chat_id, error)
                continue
            # A thread includes its root, however old.
            if not _is_later(message.ts, oldest):
                continue
            if isinstance(raw, dict) and message.ts != place.thread_id:
                yield message, raw


def _is_later(ts: str, oldest: str) -> bool:
    return is_ts(ts) and order(ts) > order(oldest)
