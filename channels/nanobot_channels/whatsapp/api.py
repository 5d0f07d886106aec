"""Meta's Graph API for one phone number, and the meaning of its errors."""

from __future__ import annotations

from typing import Any, Literal

from nanobot.errors import (
    BadCredentials,
    ChannelDown,
    ChatGone,
    DeliveryError,
    NotSent,
    OutcomeUnknown,
    Refused,
)
from nanobot.ports import Clock
from nanobot_channels.common.json_api import ApiRefusal, Json, JsonApi, NoAnswer
from nanobot_channels.common.proxy_answers import answered_by_proxy
from nanobot_channels.common.shapes import string, table
from nanobot_channels.whatsapp.settings import Settings

WINDOW_CLOSED = frozenset({131047, 470})
"""More than 24 hours have passed since the person wrote last."""
# https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
_BAD_TOKEN = frozenset({0, 3, 10, 33, 102, 190, *range(200, 300), 131005, 133010})
_BUSY = frozenset({4, 17, 429, 613, 80007, 130429, 131048, 133016})
_PASSING = frozenset({2, 131016, 131057, 133004})
_PERHAPS = frozenset({1, 131000})
"""Meta's description of these two is only that something went wrong."""
_PAIR_BUSY = 131056
_WAITS: dict[int, float | None] = {
    **dict.fromkeys((*_BUSY, *_PASSING, *_BAD_TOKEN)),
    # The account is locked, or has unpaid bills.
    **dict.fromkeys((368, 130497, 131031, 131042, 131045), 900.0),
    _PAIR_BUSY: 6.0,
}
"""Errors after which the same message may be sent later, with the seconds until then."""
_GONE = {
    131026: "the number is not on WhatsApp, has blocked you, or has an app that is too old",
    131030: "a test number may only write to the numbers listed on the page API Setup",
    131021: "the number is the bot's own",
}


class GraphApi(JsonApi):
    """The edges of the number are called by `edge`, other objects by `call`."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        token, root = settings.access_token, f"{settings.api_root}/{settings.api_version}"
        super().__init__("WhatsApp", root, token, clock, _error)
        self._number = settings.phone_number_id

    async def edge(self, name: str, body: object = None, **query: str) -> Json:
        """The response of one of the number's edges, "" for the number itself. Raises as `call`."""
        try:
            path = f"/{self._number}/{name}".rstrip("/")
            return table(await self.call(name or "phone number", path, body, query=query or None))
        except ApiRefusal as error:
            if error.code in _BUSY:
                self.busy(error.retry_after)
            raise


def _error(_status: int, answer: Any) -> tuple[int | str, str] | None:
    error = table(table(answer).get("error"))
    code = error.get("code")
    if not isinstance(code, int) or isinstance(code, bool):
        return None
    details = string(table(error.get("error_data")).get("details"))
    if error.get("is_transient") is True and code not in _PERHAPS:
        code = 2
    return code, details or string(error.get("message"))


def delivery_error(error: ApiRefusal | NoAnswer) -> DeliveryError:
    """The port's error for a failed send."""
    text = str(error)
    if isinstance(error, NoAnswer):
        return OutcomeUnknown(text) if error.sent else NotSent(text)
    code, after = error.code, error.retry_after
    if code in _GONE:
        return ChatGone(f"{text}: {_GONE[int(code)]}")
    if code in _WAITS:
        scope: Literal["chat", "bot"] = "chat" if code == _PAIR_BUSY else "bot"
        return NotSent(text, after or _WAITS[int(code)], scope)
    if code is None or (code in _PERHAPS and error.status >= 500):
        return answered_by_proxy(error.status, text)
    return Refused(text)


def receiving_error(name: str, error: ApiRefusal | NoAnswer) -> BadCredentials | ChannelDown:
    """The meaning of a failed call for the whole channel."""
    if isinstance(error, ApiRefusal) and error.code in _BAD_TOKEN:
        return BadCredentials(
            f"{error}. Put a token of a system user who may use this number, with the permissions "
            "whatsapp_business_messaging and whatsapp_business_management, into "
            f"channels.{name}.access_token, and check channels.{name}.phone_number_id."
        )
    if isinstance(error, ApiRefusal) and error.code == 100:
        return BadCredentials(
            f"{error}. Put the Phone number ID of the app's page WhatsApp, API Setup, into "
            f"channels.{name}.phone_number_id; it is not the phone number."
        )
    return ChannelDown(str(error), getattr(error, "retry_after", None))
