"""Mattermost's REST API v4, and the meaning of its errors."""

from __future__ import annotations

from typing import Any

from nanobot.errors import (
    BadCredentials,
    ChannelDown,
    ChatGone,
    DeliveryError,
    NotSent,
    OutcomeUnknown,
    Refused,
    ThreadGone,
)
from nanobot.ports import Clock
from nanobot_channels.common.json_api import ApiRefusal, JsonApi, NoAnswer
from nanobot_channels.common.proxy_answers import answered_by_proxy
from nanobot_channels.common.shapes import string, table
from nanobot_channels.mattermost.settings import Settings

_THREAD_GONE = "api.post.create_post.root_id.app_error"
_CHAT_GONE = (
    "api.post.create_post.can_not_post_to_deleted.error",
    "api.post.create_post.town_square_read_only",
    "app.channel.get.existing.app_error",
    "app.channel.get_member.missing.app_error",
)
_NOT_YET = "api.post.deduplicate_create_post.pending"


class RestApi(JsonApi):
    """One bot account at one server."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        super().__init__("Mattermost", f"{settings.url}/api/v4", settings.token, clock, _error)


def _error(status: int, answer: Any) -> tuple[int | str, str] | None:
    error = table(answer)
    code = string(error.get("id"))
    # Other objects have an id, too; only errors have a status.
    if status < 300 or not code or not isinstance(error.get("status_code"), int):
        return None
    return code, string(error.get("message"))


def delivery_error(error: ApiRefusal | NoAnswer) -> DeliveryError:
    """The port's error for a failed send."""
    text = str(error)
    if isinstance(error, NoAnswer):
        return OutcomeUnknown(text) if error.sent else NotSent(text)
    if error.code is None and error.status != 429:
        return answered_by_proxy(error.status, text)
    if error.code == _NOT_YET or error.status in {401, 429, 503}:
        return NotSent(text, error.retry_after, "bot" if error.status == 429 else "chat")
    if error.code == _THREAD_GONE:
        return ThreadGone(text)
    if error.code in _CHAT_GONE or error.status in {403, 404}:
        return ChatGone(
            f"{text}: the channel is archived, or the bot is not a member; add it there"
        )
    # An error inside may come after the post was stored; it can be looked up.
    return OutcomeUnknown(text) if error.status >= 500 else Refused(text)


def receiving_error(name: str, error: ApiRefusal | NoAnswer) -> BadCredentials | ChannelDown:
    """The meaning of a failed call for the whole channel."""
    if isinstance(error, ApiRefusal) and error.status in {401, 403} and error.code:
        return BadCredentials(
            f"{error}. Put the token of an active bot account into channels.{name}.token: "
            "Integrations, Bot Accounts, Create New Token."
        )
    if isinstance(error, ApiRefusal) and error.status == 404:
        return ChannelDown(f"{error}. Is channels.{name}.url the address of Mattermost?")
    return ChannelDown(str(error), getattr(error, "retry_after", None))
