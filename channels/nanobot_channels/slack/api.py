"""Calls to Slack's Web API through slack_sdk, and the meaning of a failed one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import aiohttp
import msgspec
from loguru import logger
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

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
from nanobot.system import proxy_for, trusted_authorities
from nanobot_channels.common.http import may_have_arrived
from nanobot_channels.common.limits import Limits
from nanobot_channels.common.numbers import seconds
from nanobot_channels.common.platform_clock import PlatformClock
from nanobot_channels.common.proxy_answers import answered_by_proxy
from nanobot_channels.common.shapes import string, table
from nanobot_channels.common.token_watch import TokenWatch

CALL_SECONDS = 20.0
_CONNECT_SECONDS = 10.0
_BAD_TOKEN = {
    "account_inactive",
    "invalid_auth",
    "missing_scope",
    "not_allowed_token_type",
    "not_authed",
    "org_login_required",
    "token_expired",
    "token_revoked",
}
_REVOKED = _BAD_TOKEN - {"missing_scope", "not_allowed_token_type"}
_LATER = {
    "accesslimited",
    "rate_limited",
    "ratelimited",
    "request_timeout",
    "service_unavailable",
    "team_added_to_org",
}
_POSTING = {"chat.postMessage", "chat.postEphemeral"}
# Slack says of these two that a part of the operation may have succeeded.
_PERHAPS = {"fatal_error", "internal_error"}
_GONE = {
    "channel_not_found": "the chat is gone, or the bot cannot see it: invite the bot there",
    "is_archived": "the channel is archived",
    "not_in_channel": "the bot is not a member there: invite it with /invite",
    "user_disabled": "the person's account is off",
    "user_not_found": "there is no such person in the workspace",
    "cannot_dm_bot": "bots cannot write to bots",
}
# Exceptions of the client library for a malformed response.
MALFORMED = (AttributeError, KeyError, TypeError, ValueError, RecursionError)


class ApiRefusal(Exception):
    """Slack refused the call, or a proxy refused to forward it. `code` is Slack's error, "" for a
    proxy's response.
    """

    def __init__(
        self, method: str, code: str, status: int, *, needed: str = "", retry_after: float | None
    ) -> None:
        scope = f", the scope {needed} is missing" if needed else ""
        super().__init__(f"Slack's {method}: {code or 'no usable answer'} ({status}){scope}")
        self.code = code
        self.status = status
        self.needed = needed
        self.retry_after = retry_after


class StillStreaming(Refused):
    """The message is a stream that has not been stopped: it cannot be edited yet."""


class NoAnswer(Exception):
    """There was no usable response. `sent`: the request may have arrived."""

    def __init__(self, method: str, error: Exception, *, sent: bool) -> None:
        super().__init__(f"Slack's {method}: {type(error).__name__} {error}".rstrip())
        self.sent = sent


FAILED = (ApiRefusal, NoAnswer)
_REFUSED: dict[str, type[DeliveryError]] = {
    "restricted_action_thread_locked": ThreadGone,
    "streaming_state_conflict": StillStreaming,
}


class _Forward(logging.Handler):
    """Forwards the libraries' log as debug messages: important failures are raised as errors."""

    def emit(self, record: logging.LogRecord) -> None:
        logger.debug("{}", record.getMessage())


def library_log() -> logging.Logger:
    """The logger to hand to slack_bolt and slack_sdk."""
    log = logging.getLogger("nanobot_channels.slack")
    if not log.handlers:
        log.addHandler(_Forward())
        log.propagate = False
        log.setLevel(logging.INFO)  # below it they log every message and token-like URL
    return log


class WebApi:
    """One bot's Web API at one root. Every method raises ApiRefusal or NoAnswer and never retries a
    call. A method that Slack has limited is not called before the time it named: a call waits, or
    is refused here with the remaining time.
    """

    def __init__(self, token: str, root: str, clock: Clock) -> None:
        # The default handlers retry a call whose connection broke: a message would arrive twice.
        self.client = AsyncWebClient(
            token=token,
            base_url=root,
            retry_handlers=[],
            logger=library_log(),
        )
        # The library uses a proxy from the environment even for NO_PROXY hosts and loopback.
        self.client.proxy = proxy_for(root)
        self.root = root
        self.clock = clock
        self.time = PlatformClock(clock)
        self._limits = Limits(clock)
        self.watch = TokenWatch()
        self.granted: set[str] = set()
        """The token's scopes, from Slack's last response; empty if it did not name them."""
        self._token = token
        self._session: aiohttp.ClientSession | None = None
        authorities = trusted_authorities(root)
        self.client.ssl = authorities if not isinstance(authorities, bool) else None

    def session(self) -> aiohttp.ClientSession:
        """The connections that all calls share; created on first use, inside the event loop."""
        if self._session is None or self._session.closed:
            timeout = aiohttp.ClientTimeout(total=CALL_SECONDS, connect=_CONNECT_SECONDS)
            self._session = aiohttp.ClientSession(timeout=timeout)
            self.client.session = self._session
        return self._session

    async def call(
        self, method: str, params: Mapping[str, Any], *, form: bool = False
    ) -> dict[str, Any]:
        """Call a method with JSON, or with a form: the reading methods do not accept JSON."""
        self.session()
        present = {key: value for key, value in params.items() if value is not None}
        # A limit applies to a method in the whole workspace, but messages have one for each
        # channel.
        kind = f"{method} {params.get('channel')}" if method in _POSTING else method
        left = await self._limits.turn(kind)
        if left:
            raise ApiRefusal(method, "ratelimited", 429, retry_after=left)
        try:
            with _answering(method):
                if form:
                    fields = {key: _field(value) for key, value in present.items()}
                    answer = await self.client.api_call(method, data=fields)
                else:
                    answer = await self.client.api_call(method, json=present)
                self.time.read_date(answer.headers.get("Date"))
                self.granted = set(str(answer.headers.get("x-oauth-scopes", "")).split(",")) - {""}
                if not isinstance(answer.data, dict):
                    raise TypeError(f"answered with {type(answer.data).__name__}")
                return answer.data
        except ApiRefusal as refusal:
            if refusal.status == 429:
                self._limits.close(kind, refusal.retry_after)
            if refusal.code in _REVOKED:
                self.watch.refused(refusal)
            raise

    async def open_socket(self, app_token: str) -> str:
        """The URL for one websocket, by apps.connections.open."""
        self.session()
        with _answering("apps.connections.open"):
            answer = await self.client.apps_connections_open(app_token=app_token)
            return str(answer["url"])

    def bearer(self) -> dict[str, str]:
        """The Authorization header for downloads."""
        return {"Authorization": f"Bearer {self._token}"}

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


@contextmanager
def _answering(method: str) -> Iterator[None]:
    """Converts exceptions raised inside to ApiRefusal or NoAnswer."""
    try:
        yield
    except SlackApiError as error:
        raise _refusal(method, error) from error
    except (aiohttp.ClientError, TimeoutError, *MALFORMED) as error:
        raise NoAnswer(method, error, sent=may_have_arrived(error)) from error


def _field(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _refusal(method: str, error: SlackApiError) -> ApiRefusal | NoAnswer:
    response = error.response
    # The library attaches its own response, or aiohttp's if the body was not JSON.
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
    headers: Mapping[str, str] = getattr(response, "headers", None) or {}
    data = table(getattr(response, "data", None))
    code = string(data.get("error"))
    if code in _PERHAPS or (status == 200 and not code):
        return NoAnswer(method, error, sent=True)
    needed, retry_after = string(data.get("needed")), seconds(headers.get("Retry-After"))
    return ApiRefusal(method, code, status, needed=needed, retry_after=retry_after)


def following(answer: Mapping[str, Any]) -> str:
    """The cursor of the next page of a response, "" if this is the last."""
    return string(table(answer.get("response_metadata")).get("next_cursor"))


def delivery_error(error: ApiRefusal | NoAnswer) -> DeliveryError:
    """The port's error for a failed send."""
    if isinstance(error, NoAnswer):
        return OutcomeUnknown(str(error)) if error.sent else NotSent(str(error))
    if error.code in _GONE:
        return ChatGone(f"{error}: {_GONE[error.code]}")
    if not error.code and error.status != 429:
        return answered_by_proxy(error.status, str(error))
    if is_passing(error) or error.code in _BAD_TOKEN:
        return NotSent(str(error), error.retry_after)
    kind = _REFUSED.get(error.code, Refused)
    return kind(str(error))


def is_passing(error: ApiRefusal) -> bool:
    """Whether the same call may succeed later."""
    return error.status == 429 or error.status >= 500 or error.code in _LATER


def receiving_error(
    name: str, error: ApiRefusal | NoAnswer, key: str
) -> BadCredentials | ChannelDown:
    """The meaning of a failed call for the whole channel; `key` names the token of the call."""
    if isinstance(error, ApiRefusal) and error.code in _BAD_TOKEN:
        return BadCredentials(f"{error}. {_remedy(name, error, key)}")
    retry_after = error.retry_after if isinstance(error, ApiRefusal) else None
    return ChannelDown(str(error), retry_after)


def _remedy(name: str, error: ApiRefusal, key: str) -> str:
    if error.code == "missing_scope" and key == "bot_token":
        return (
            f"Add the scope {error.needed or 'it names'} on api.slack.com/apps under OAuth & "
            "Permissions, and install the app again."
        )
    if key == "bot_token":
        return (
            f"Put the Bot User OAuth Token (xoxb-...) of api.slack.com/apps, OAuth & Permissions, "
            f"into channels.{name}.bot_token."
        )
    return (
        f"Put an app-level token (xapp-...) with the scope connections:write, of "
        f"api.slack.com/apps, Basic Information, into channels.{name}.app_token, and turn Socket "
        "Mode on."
    )
