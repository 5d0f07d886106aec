"""Messages that arrived in a chat while the bot was offline, from its history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loguru import logger

from nanobot.ports import Clock
from nanobot_channels.common.shapes import BadEvent, listed, table
from nanobot_channels.discord.http import DiscordHttp, Refusal
from nanobot_channels.discord.messages import Message, parse

_PAGE = 100
_LONGEST_WAIT = 300.0


class History:
    """Reads backwards, at most `most` messages of a chat."""

    def __init__(self, name: str, http: DiscordHttp, clock: Clock, most: int) -> None:
        self._name = name
        self._http = http
        self._clock = clock
        self._most = most

    async def since(self, channel_id: str, after: int) -> list[Message]:
        """The latest messages with higher ids, the oldest first; none from a chat that the bot may
        not read. Waits as long as Discord's rate limits demand. Raises Refusal, NotSent or
        OutcomeUnknown.
        """
        if not self._most:
            return []
        try:
            page = await self._page(channel_id, after=after)
            if len(page) < min(_PAGE, self._most):
                return _sorted(page)
            return await self._latest(channel_id, after)
        except Refusal as refusal:
            if refusal.status not in {400, 403, 404}:
                raise
            logger.warning(
                "{}: cannot read the messages of {} from the downtime: {}",
                self._name,
                channel_id,
                refusal,
            )
            return []

    async def _latest(self, channel_id: str, after: int) -> list[Message]:
        """For more messages than one page holds: page by page, backwards from the latest."""
        messages: list[Message] = []
        before: int | None = None
        while len(messages) < self._most:
            page = await self._page(channel_id, before=before)
            new = [message for message in page if message.number > after]
            messages += new
            if len(new) < _PAGE:
                break
            before = min(message.number for message in new)
        if len(messages) >= self._most:
            logger.warning(
                "{}: {} has more missed messages than the limit; nanobot reads the latest {} "
                "(channels.{}.backfill_messages)",
                self._name,
                channel_id,
                self._most,
                self._name,
            )
        return _sorted(messages)[-self._most :]

    async def _page(
        self, channel_id: str, *, after: int | None = None, before: int | None = None
    ) -> list[Message]:
        while True:
            try:
                answer: Any = await self._http.logs_from(
                    int(channel_id), _PAGE, after=after, before=before
                )
            except Refusal as refusal:
                if refusal.status != 429:
                    raise
                await self._clock.sleep(min(refusal.retry_after or 1.0, _LONGEST_WAIT))
            else:
                return self._parsed(answer)

    def _parsed(self, answer: object) -> list[Message]:
        messages = []
        for data in listed(answer):
            try:
                messages.append(parse(data))
            except BadEvent as error:
                number = table(data).get("id")
                logger.warning("{}: message {} skipped: {}", self._name, number, error)
        return messages


def _sorted(messages: Sequence[Message]) -> list[Message]:
    return sorted(messages, key=lambda message: message.number)
