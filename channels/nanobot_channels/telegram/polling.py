"""Long polling of the Bot API, in which an update is acknowledged only after its commit."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from loguru import logger

from nanobot.errors import BadCredentials
from nanobot.messages import InboundMessage
from nanobot.ports import Clock, Intake
from nanobot.system import Backoff as GrowingDelay
from nanobot_channels.telegram.api import MALFORMED, BotApi
from nanobot_channels.telegram.http import ApiRefusal
from nanobot_channels.telegram.library import TelegramError
from nanobot_channels.telegram.messages import as_json
from nanobot_channels.telegram.personal import PersonalMessages
from nanobot_channels.telegram.types import BotUser
from nanobot_channels.telegram.updates import (
    ALLOWED_UPDATES,
    BadUpdate,
    moved_chat,
    needs_me,
    press_id,
    stopped_draft,
    to_inbound,
    update_id,
)

# A poll is aborted if its response is this much later than requested.
_GRACE = 1.3
_FIRST_ANSWER_SECONDS = 10.0
_ALBUMS_REMEMBERED = 100
_ALLOWED = as_json(ALLOWED_UPDATES)


_CONFLICTS = GrowingDelay(first=0.85, longest=30.0, factor=1.5)


class Backoff:
    """How long to wait after the nth failure in a row.

    0.5 s, doubling to 2 s during the first minute, since most outages are a restart, and to 30 s
    after it; up to a quarter less by chance, so that bots do not return all at once.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._random = random.Random()  # noqa: S311 (nobody gains by guessing it)
        self._since: float | None = None
        self._next = 0.5

    def reset(self) -> None:
        """Start over after a success."""
        self._since = None
        self._next = 0.5

    def delay(self) -> float:
        """Seconds to wait after one more failure."""
        now = self._clock.monotonic()
        if self._since is None:
            self._since = now
        longest = 2.0 if now - self._since < 60.0 else 30.0
        delay = min(self._next, longest)
        self._next = min(delay * 2, 30.0)
        return delay * self._random.uniform(0.75, 1.0)


class Albums:
    """The albums addressed to the bot: only one of an album's messages has the caption."""

    def __init__(self) -> None:
        self._addressed: deque[tuple[str, str]] = deque(maxlen=_ALBUMS_REMEMBERED)

    def completed(self, messages: Sequence[InboundMessage]) -> list[InboundMessage]:
        """The messages, all of an album addressed if one of it is or lately was."""
        for message in messages:
            if message.group_id and message.group and message.addressed:
                self._addressed.append((message.address.chat_id, message.group_id))
        return [
            msgspec.structs.replace(message, addressed=True)
            if (message.address.chat_id, message.group_id) in self._addressed
            else message
            for message in messages
        ]


class Polling:
    """Admits one bot's updates to one intake."""

    def __init__(
        self,
        api: BotApi,
        name: str,
        intake: Intake,
        clock: Clock,
        personal: PersonalMessages,
        seconds: int,
    ) -> None:
        self._api = api
        self._personal = personal
        self._name = name
        self._intake = intake
        self._clock = clock
        self._seconds = seconds
        self._backoff = Backoff(clock)
        self._me: BotUser | None = None
        self._answered = False
        self._albums = Albums()
        self._skipped = 0
        self._trouble = ""
        self._conflicts = 0

    async def run(self) -> None:
        """Poll until cancelled; waits for the end of server and network failures.

        Raises BadCredentials if the token is refused, and whatever the intake raises: then the
        update was not acknowledged, and the next run gets it again.
        """
        offset = self._offset(await self._intake.cursor())
        while True:
            try:
                updates = await self._poll(offset)
                self._intake.alive()
                if self._me is None and any(needs_me(update) for update in updates):
                    self._me = await self._get_me()
            except (TelegramError, msgspec.ValidationError, *MALFORMED) as error:
                await self._wait_out(error)
                continue
            if not updates:
                self._recovered()
                continue
            following = await self._admit(updates)
            if following is None:
                await self._wait_out(ValueError("no update in the answer has an update_id"))
            else:
                self._recovered()
                offset = following

    def _offset(self, cursor: str | None) -> int | None:
        if cursor is None:
            return None
        try:
            return int(cursor)
        except ValueError:
            logger.warning(
                "{}: stored cursor {!r} is not an offset; starting anew", self._name, cursor
            )
            return None

    async def _poll(self, offset: int | None) -> Sequence[object]:
        # The first poll, and the first after a failure, returns at once: otherwise a quiet bot
        # would not know for its whole length whether the server can be reached.
        hold_seconds = self._seconds if self._answered else 0
        params: dict[str, Any] = {"timeout": hold_seconds, "allowed_updates": _ALLOWED}
        if offset is not None:
            params["offset"] = offset
        self._answered = False
        patience = self._seconds * _GRACE
        if not hold_seconds:
            patience = min(patience, _FIRST_ANSWER_SECONDS)
        updates = await self._api.call("get_Updates", params, read_seconds=patience)
        if not isinstance(updates, list):
            raise TypeError(f"getUpdates answered with {type(updates).__name__}")
        self._answered = True
        return updates

    async def _get_me(self) -> BotUser:
        return msgspec.convert(await self._api.call("get_Me", {}), BotUser, strict=False)

    async def _admit(self, updates: Sequence[object]) -> int | None:
        """Commit a batch; returns the next offset, None if no update has a number."""
        numbers = [number for number in map(update_id, updates) if number is not None]
        following = max(numbers) + 1 if numbers else None
        converted = [(update, self._converted(update)) for update in updates]
        for update, message in converted:
            if message is not None:
                self._personal.heard(message, press_id(update))
        messages = [message for _, message in converted if message is not None]
        messages = self._albums.completed(messages)
        for move in filter(None, map(moved_chat, updates)):
            await self._intake.moved(*move)
        await self._intake.admit(messages, None if following is None else str(following))
        # All at once: each may wait, and so would the next poll.
        async with asyncio.TaskGroup() as tasks:
            for press in filter(None, map(press_id, updates)):
                tasks.create_task(self._personal.answer(press))
        return following

    def _converted(self, update: object) -> InboundMessage | None:
        stopped = stopped_draft(update)
        if stopped is not None and not self._personal.messages.drafted(*stopped):
            return None  # pressed when the response was already there
        try:
            return to_inbound(update, self._name, self._me, self._clock.now())
        except BadUpdate as error:
            self._skipped += 1
            logger.warning(
                "{}: update {} cannot be read and is skipped ({} so far): {}",
                self._name,
                update_id(update),
                self._skipped,
                error,
            )
            return None

    async def _wait_out(self, error: Exception) -> None:
        delay = self._backoff.delay()
        reason = f"{error!r}"
        if isinstance(error, ApiRefusal):
            reason = f"{error.message} ({error.status})"
            if error.status == HTTPStatus.CONFLICT:
                reason += "; a bot's updates go to one process: if this stays, stop the other one"
            delay = await self._after_refusal(error, delay)
        # Logged once: the same line every few seconds buries the rest of the log.
        level = "DEBUG" if reason == self._trouble else "WARNING"
        logger.log(level, "{}: no updates: {}; next try in {:.1f} s", self._name, reason, delay)
        self._trouble = reason
        await self._clock.sleep(delay)

    def _recovered(self) -> None:
        if self._trouble:
            logger.info("{}: updates come again", self._name)
        self._trouble, self._conflicts = "", 0
        self._backoff.reset()

    async def _after_refusal(self, error: ApiRefusal, delay: float) -> float:
        if error.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND}:
            raise refused_token(self._name, error.status)
        if error.status == HTTPStatus.CONFLICT:
            if "webhook" in error.message.lower():
                await self._delete_webhook()
            else:
                # Usually our own predecessor, whose poll the server still holds open; if it is
                # another process, each poll of ours only ends one of its polls.
                self._conflicts += 1
                delay = max(delay, _CONFLICTS.delay(self._conflicts))
        return max(delay, error.retry_after or 0.0)

    async def _delete_webhook(self) -> None:
        """Remove a webhook set earlier for this bot: while one exists, getUpdates is refused."""
        try:
            await self._api.call("delete_Webhook", {"drop_pending_updates": False})
        except (TelegramError, *MALFORMED) as error:
            logger.warning("{}: deleteWebhook: {!r}", self._name, error)


def refused_token(name: str, status: int) -> BadCredentials:
    """The error for a refused token."""
    return BadCredentials(
        f"Telegram refuses the token of channels.{name} ({status}). Ask @BotFather for the "
        f"bot's token (/mybots, API Token), put it into channels.{name}.token; with an api_root "
        "of your own, check that too."
    )
