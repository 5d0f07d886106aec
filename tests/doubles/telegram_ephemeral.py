"""What one person of a group sees alone on Telegram: ephemeral messages, words over a button.

Where https://core.telegram.org/bots/api#ephemeral-messages-and-commands does not say what an error
reads like, the errors are those of Telegram's own protocol.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.doubles.telegram_native import Native
from tests.doubles.telegram_rules import Message, Params, Refusal, check_text

PRESS_SECONDS = 15.0
_ALERT_LIMIT = 200


@dataclass
class EphemeralMessage(Message):
    """A message that only its receiver sees; its number is not one of the chat's."""

    receiver: int = 0


@dataclass
class _Query:
    presser: int
    at: float
    answered: bool = False


class Ephemeral:
    """`known` refuses chats that are not there. A bot administers the groups `administered`."""

    def __init__(self, native: Native, known: Callable[[Params], int]) -> None:
        self.administered: set[int] = set()
        self.messages: list[EphemeralMessage] = []
        self.alerts: list[tuple[int, str]] = []
        """To whom, and the words over the button."""
        self._native = native
        self._known = known
        self._numbers = itertools.count(1)
        self._queries: dict[str, _Query] = {}

    @property
    def methods(self) -> dict[str, Callable[[Params], Any]]:
        newer = {
            "editEphemeralMessageText": self._edit,
            "deleteEphemeralMessage": self._delete,
        }
        return {"answerCallbackQuery": self._answer, **({} if self._native.off else newer)}

    def seen_by(self, person: int) -> list[str]:
        return [message.text for message in self.messages if message.receiver == person]

    def pressed(self, presser: int) -> str:
        """Somebody presses a button; the id of the query."""
        number = str(time.monotonic_ns())
        self._queries[number] = _Query(presser, time.monotonic())
        return number

    def post(self, params: Params) -> dict[str, Any]:
        """Any send with ephemeral_message_parameters, once the chat and the content are fine."""
        chat, about = int(params["chat_id"]), params["ephemeral_message_parameters"]
        receiver = about.get("receiver_user_id")
        if not isinstance(receiver, int):
            raise Refusal(400, "Bad Request: invalid user_id specified")
        if chat > 0:
            raise Refusal(400, "Bad Request: PEER_ID_INVALID")
        query = self._queries.get(about.get("callback_query_id", ""))
        fresh = query and query.presser == receiver and time.monotonic() - query.at < PRESS_SECONDS
        if chat not in self.administered and not fresh:
            raise Refusal(400, "Bad Request: CHAT_ADMIN_REQUIRED")
        number = next(self._numbers)
        text = params.get("text") or ""
        message = EphemeralMessage(chat, number, text, from_bot=True, params=params)
        message.receiver = receiver
        self.messages.append(message)
        shown = {"message_id": 0, "ephemeral_message_id": number, "date": int(time.time())}
        return shown | {"receiver_user": {"id": receiver}, "chat": {"id": chat}}

    def _own(self, params: Params) -> EphemeralMessage:
        chat = self._known(params)
        for message in self.messages:
            about = (params.get("receiver_user_id"), params.get("ephemeral_message_id"))
            if message.chat == chat and about == (str(message.receiver), str(message.message_id)):
                return message
        raise Refusal(400, "Bad Request: MESSAGE_ID_INVALID")

    def _edit(self, params: Params) -> bool:
        message = self._own(params)
        if "rich_message" in params:
            self._native.edited(message, params)
            return True
        check_text(params)
        message.history.append(message.text)
        message.text, message.params = params["text"], params
        return True

    def _delete(self, params: Params) -> bool:
        self.messages.remove(self._own(params))
        return True

    def _answer(self, params: Params) -> bool:
        query = self._queries.get(params.get("callback_query_id", ""))
        if query is None or query.answered:
            raise Refusal(400, "Bad Request: query is too old and response timeout expired")
        text = params.get("text") or ""
        if len(text) > _ALERT_LIMIT:
            raise Refusal(400, "Bad Request: MESSAGE_TOO_LONG")
        query.answered = True
        if text:
            self.alerts.append((query.presser, text))
        return True
