"""Content that only one person in a group sees: ephemeral messages, and texts above a button they
pressed.

https://core.telegram.org/bots/api#ephemeral-messages-and-commands
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
from loguru import logger

from nanobot.errors import ChatGone, DeliveryError, Refused
from nanobot.messages import Address, InboundMessage
from nanobot.ports import Clock, OutboundPart
from nanobot_channels.common.recent import Recent
from nanobot_channels.common.text import utf16_units
from nanobot_channels.telegram.messages import TelegramMessages
from nanobot_channels.telegram.parts import payload_of

_EPHEMERAL = "e"
_PRESSED = "press:"
_THERE_SECONDS = 300.0
# A press allows an ephemeral message for 15 seconds; a bot's administrators always do.
_PRESS_SECONDS = 13.0
_REFUSAL_SECONDS = 0.3
_ANSWER_SECONDS = 5.0
_ALERT_LIMIT = 200
_MOST = 1000
# Its absence reveals an older server, which would show such a message to all, because it ignores
# unknown parameters.
_TELLING_METHOD = "delete_Ephemeral_Message"


class _Press:
    """A press of a button. `over`: its spinner was stopped, or is being stopped."""

    def __init__(self, query_id: str, at: float) -> None:
        self.query_id = query_id
        self.at = at
        self.over = asyncio.Event()


class PersonalMessages:
    """Telegram does not guarantee that an ephemeral message arrives, especially if its recipient is
    away: only a person who wrote within five minutes gets one. A chat that refuses them is tried
    once; after that only with a press, which allows one separately.
    """

    def __init__(self, messages: TelegramMessages, name: str, clock: Clock) -> None:
        self.messages = messages
        self._name = name
        self._clock = clock
        self._spoke: Recent[tuple[str, str], float] = Recent(_MOST)
        self._presses: Recent[tuple[str, str], _Press] = Recent(_MOST)
        self._refused: set[str] = set()
        self._has_ephemerals: bool | None = None

    def heard(self, message: InboundMessage, press: str | None) -> None:
        """A person in a group wrote, or pressed a button; before it is admitted."""
        if not message.group:
            return
        key, now = (message.address.chat_id, message.sender.id), self._clock.monotonic()
        self._spoke[key] = now
        if press is not None:
            self._presses[key] = _Press(press, now)

    async def answer(self, query_id: str) -> None:
        """Stop the spinner of a button. Wait a moment for a refusal that follows from the press,
        since its text can be shown with it. The press is committed already, so a failure is only
        logged.
        """
        press = next((each for each in self._presses.values() if each.query_id == query_id), None)
        if press is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_REFUSAL_SECONDS):
                    await press.over.wait()
            if press.over.is_set():
                return
            press.over.set()
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):  # the next poll waits for it
                await self._stop_spinner(query_id)
        except (DeliveryError, TimeoutError) as error:
            logger.debug("{}: answerCallbackQuery: {!r}", self._name, error)

    def confides(self, address: Address, person: str) -> bool:
        """Whether they are present, and no refusal is known."""
        chat = address.chat_id
        if not chat.startswith("-") or not person.isdecimal():
            return False
        if self._press(chat, person) is not None:
            return True
        spoke = self._spoke.get((chat, person))
        there = spoke is not None and self._clock.monotonic() - spoke < _THERE_SECONDS
        return there and chat not in self._refused and self._has_ephemerals is not False

    async def confide(self, address: Address, person: str, part: OutboundPart) -> str:
        press = self._press(address.chat_id, person)
        if press is not None and _is_alert(part) and not press.over.is_set():
            press.over.set()
            with suppress(Refused, ChatGone):
                await self._stop_spinner(press.query_id, part.text)
                return f"{_PRESSED}{press.query_id}"
        if self._has_ephemerals is None:
            self._has_ephemerals = await self.messages.knows(_TELLING_METHOD)
        if not self._has_ephemerals:
            raise Refused("this Bot API server has no ephemeral messages")
        about: dict[str, Any] = {"receiver_user_id": int(person)}
        if press is not None:
            about["callback_query_id"] = press.query_id
        extra = {"ephemeral_message_parameters": msgspec.json.encode(about).decode()}
        try:
            number = await self.messages.send(address, part, plain=False, extra=extra)
        except (Refused, ChatGone) as refused:  # the chat may exist for all others
            if press is None:
                self._refused.add(address.chat_id)
            raise Refused(str(refused)) from refused
        return f"{number}.{person}"

    async def edit(self, address: Address, receipt: str, part: OutboundPart) -> None:
        """Replace a message that only one person saw, if it is one; see ports.Editing."""
        number, _, person = receipt.removeprefix(_EPHEMERAL).partition(".")
        if not (number.isdecimal() and person.isdecimal()):
            raise Refused("the text above a button has disappeared")
        where = {"receiver_user_id": int(person), "ephemeral_message_id": int(number)}
        await self.messages.edit_ephemeral(address, where, part)

    def _press(self, chat: str, person: str) -> _Press | None:
        press = self._presses.get((chat, person))
        fresh = press is not None and self._clock.monotonic() - press.at < _PRESS_SECONDS
        return press if fresh else None

    async def _stop_spinner(self, query_id: str, text: str = "") -> None:
        params: dict[str, Any] = {"callback_query_id": query_id}
        if text:
            params |= {"text": text, "show_alert": True}
        await self.messages.call("answer_Callback_Query", params)


def is_personal(receipt: str) -> bool:
    """Whether the receipt belongs to a message that only one person saw."""
    return receipt.startswith((_EPHEMERAL, _PRESSED))


def _is_alert(part: OutboundPart) -> bool:
    return utf16_units(part.text) <= _ALERT_LIMIT and not payload_of(part).buttons
