"""Calls to Discord's HTTP API (https://discord.com/developers/docs/reference): one attempt each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

import aiohttp
import msgspec
from discord.file import File
from discord.gateway import DiscordClientWebSocketResponse
from discord.http import HTTPClient, Route
from discord.utils import MISSING

from nanobot.errors import (
    BadCredentials,
    ChannelDown,
    ChannelError,
    ChatGone,
    DeliveryError,
    NotSent,
    OutcomeUnknown,
    Refused,
    ThreadGone,
)
from nanobot.ports import Clock
from nanobot.system import proxy_for
from nanobot_channels.common.http import Connections, may_have_arrived, read_at_most
from nanobot_channels.common.limits import Limits
from nanobot_channels.common.numbers import seconds, size
from nanobot_channels.common.platform_clock import PlatformClock
from nanobot_channels.common.proxy_answers import answered_by_proxy
from nanobot_channels.common.shapes import string, table

_PATIENCE = aiohttp.ClientTimeout(total=180.0, sock_connect=10.0, sock_read=20.0)
_CLOSING_SECONDS = 2.0
_ALL = "every route"
_REACTIONS = "/reactions/"

# https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
_UNKNOWN_CHANNEL = 10003
_TOO_FAST_HERE = 20028
_MISSING_ACCESS = 50001
_CANNOT_WRITE_TO_USER = 50007
MISSING_PERMISSIONS = 50013
_ARCHIVED_THREAD = 50083
_LOCKED_THREAD = 160005
_GONE = {_UNKNOWN_CHANNEL, _MISSING_ACCESS, _CANNOT_WRITE_TO_USER}
_THREAD_GONE = {_ARCHIVED_THREAD, _LOCKED_THREAD}


class Refusal(Exception):
    """The response has an error status. `code` is Discord's JSON error code, 0 if there is none;
    `from_api`: the response has Discord's format; `for_bot`: it is a rate limit of the whole bot,
    not of one channel.
    """

    def __init__(
        self,
        status: int,
        code: int,
        message: str,
        retry_after: float | None,
        *,
        from_api: bool = False,
        for_bot: bool = False,
    ) -> None:
        super().__init__(f"{message} ({status}, code {code})" if code else f"{message} ({status})")
        self.status = status
        self.code = code
        self.retry_after = retry_after
        self.from_api = from_api
        self.for_bot = for_bot


class DiscordHttp(HTTPClient):
    """discord.py's routes and payloads over a transport that belongs to one bot and one server.

    discord.py can be pointed at another server only for the whole process, waits for rate limits
    inside a call, and sends a request up to five times. Here a request is sent once, to this
    channel's server, and its outcome is reported exactly: Refusal for an error status, NotSent if
    no byte was sent, OutcomeUnknown if there was no usable response.

    A request that Discord would refuse by its limits is not sent: it waits for its turn, or is
    refused here with the remaining time.
    """

    def __init__(self, token: str, api_root: str, clock: Clock) -> None:
        super().__init__(MISSING)
        self._time = PlatformClock(clock)
        self._limits = Limits(clock)
        self._bucket_names: dict[str, str] = {}
        self.token = token
        self._root = api_root
        self._connections = Connections(
            api_root, most=0, timeout=_PATIENCE, ws_response_class=DiscordClientWebSocketResponse
        )
        self._shut = False

    async def request(
        self,
        route: Route,
        *,
        files: Sequence[File] | None = None,
        form: Iterable[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The response as JSON, None if it is empty. The class lists the exceptions."""
        url = self._root + route.url.removeprefix(Route.BASE)
        headers = {"User-Agent": self.user_agent, "Authorization": f"Bot {self.token}"}
        if "json" in kwargs:
            headers["Content-Type"] = "application/json"
            kwargs["data"] = msgspec.json.encode(kwargs.pop("json"))
        elif form:
            fields = aiohttp.FormData(quote_fields=False)
            for field in form:
                fields.add_field(**field)
            kwargs["data"] = fields
        kwargs.pop("reason", None)
        await self._turn(route)
        try:
            async with self._session().request(
                route.method, url, headers=headers, allow_redirects=False, **kwargs
            ) as response:
                self._time.read_date(response.headers.get("Date"))
                body = await response.read()
                self._note(route, response.headers)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unanswered(error) from error
        if not 200 <= response.status <= 299:
            refusal = _refusal(response, body)
            if refusal.status == HTTPStatus.TOO_MANY_REQUESTS:
                kind = _ALL if refusal.for_bot else self._kind(route)
                self._limits.close(kind, refusal.retry_after)
            raise refusal
        try:
            return msgspec.json.decode(body) if body else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise OutcomeUnknown(f"Discord's answer is not JSON: {error}") from error

    # https://docs.discord.com/developers/topics/rate-limits

    async def _turn(self, route: Route) -> None:
        """Wait for the limit. Raises Refusal if that takes long."""
        kinds = [self._kind(route)]
        if route.webhook_token is None:  # answers to people who use the bot have no common limit
            kinds.append(_ALL)
        left = await self._limits.turn(*kinds)
        if left:
            raise Refusal(
                HTTPStatus.TOO_MANY_REQUESTS,
                0,
                f"it wants nothing more of that kind for {left:.0f} s",
                left,
                from_api=True,
                for_bot=self._limits.left(_ALL) >= left,
            )

    def _note(self, route: Route, headers: Mapping[str, str]) -> None:
        """Read the number of remaining calls from a response."""
        name = headers.get("X-RateLimit-Bucket")
        if name:
            self._bucket_names[route.key] = name[:100]
        if headers.get("X-RateLimit-Remaining") == "0":
            wait = seconds(headers.get("X-RateLimit-Reset-After"))
            self._limits.close(self._kind(route), wait)

    def _kind(self, route: Route) -> str:
        """Routes with a common bucket share their limit, for each channel. All reaction routes
        share one, because the next call would come before its route's bucket is known.
        """
        name = self._bucket_names.get(route.key, route.key)
        name = _REACTIONS if _REACTIONS in route.path else name
        return f"{name} {route.major_parameters}"

    async def now(self) -> float:
        """Discord's time in Unix seconds; sends a request if no response has had a Date header yet.
        Raises as `request`.
        """
        if not self._time.is_set:
            await self.who_am_i()
        return self._time.now()

    async def at(self, moment: float) -> float:
        """The machine's Unix time `moment` converted to Discord's clock. Raises as `request`."""
        await self.now()
        return self._time.at(moment)

    async def who_am_i(self) -> Any:
        """The bot's user. Raises as `request`."""
        return await self.request(Route("GET", "/users/@me"))

    async def send_form(self, channel: int, form: Sequence[dict[str, Any]]) -> Any:
        """A message as a form; returns it. Raises as `request`."""
        route = Route("POST", "/channels/{channel_id}/messages", channel_id=channel)
        return await self.request(route, form=form)

    async def answer_interaction(self, number: str, token: str, answer: dict[str, Any]) -> None:
        """The response that an interaction expects. Raises as `request`."""
        path = "/interactions/{webhook_id}/{webhook_token}/callback"
        await self._interact("POST", path, number, token, answer)

    async def follow_up(self, application: str, token: str, payload: dict[str, Any]) -> Any:
        """One more message after the answer to an interaction; returns it. Raises as `request`."""
        path = "/webhooks/{webhook_id}/{webhook_token}"
        return await self._interact("POST", path, application, token, payload)

    async def edit_first_answer(self, application: str, token: str, payload: dict[str, Any]) -> Any:
        """Replace the response to an interaction; returns the message. Raises as `request`."""
        path = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
        return await self._interact("PATCH", path, application, token, payload)

    async def _interact(
        self, method: str, path: str, number: str, token: str, payload: dict[str, Any]
    ) -> Any:
        route = Route(method, path, webhook_id=int(number), webhook_token=token)
        return await self.request(route, json=payload)

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        """A connection to the gateway. Raises aiohttp.ClientError, TimeoutError or OSError."""
        return await self._session().ws_connect(
            url,
            proxy=proxy_for(url.replace("ws", "http", 1)),
            max_msg_size=0,
            timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSING_SECONDS),
            autoclose=False,
            headers={"User-Agent": self.user_agent},
            compress=compress,
        )

    async def download(self, url: str, limit: int) -> bytes:
        """A file of the CDN. Raises TooMuch if it has more than `limit` bytes, and as `request`."""
        try:
            async with self._session().get(url) as response:
                if response.status != HTTPStatus.OK:
                    raise Refusal(response.status, 0, response.reason or "no file", None)
                return await read_at_most(response, limit)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unanswered(error) from error

    async def shutdown(self) -> None:
        """Close every connection; nothing can be sent afterwards."""
        self._shut = True
        await self._connections.close()

    def _session(self) -> aiohttp.ClientSession:
        if self._shut:
            raise NotSent("the connection to Discord was closed")
        return self._connections.session()


def _refusal(response: aiohttp.ClientResponse, body: bytes) -> Refusal:
    try:
        details = table(msgspec.json.decode(body))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        details = {}
    said = string(details.get("message"))
    message = said or response.reason or "error"
    if details.get("errors"):
        message += f": {msgspec.json.encode(details['errors']).decode()[:500]}"
    wait = seconds(details.get("retry_after"))
    if wait is None:
        wait = seconds(response.headers.get("Retry-After"))
    # Without "Via" it is Cloudflare in front of Discord, which has banned the machine's address
    # (Discord, Rate Limits: "Invalid Request Limit"): that is no channel's limit either.
    limited = response.status == HTTPStatus.TOO_MANY_REQUESTS
    everywhere = (
        details.get("global") is True
        or response.headers.get("X-RateLimit-Global", "").lower() == "true"
        or response.headers.get("X-RateLimit-Scope") == "global"
        or "Via" not in response.headers
    )
    return Refusal(
        response.status,
        size(details.get("code")),
        message,
        wait,
        from_api=bool(said),
        for_bot=limited and everywhere,
    )


def delivery_error(refusal: Refusal, *, in_thread: bool = False) -> DeliveryError:
    """The meaning of an error status for a send, to a thread or not."""
    text = f"Discord: {refusal}"
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        return NotSent(f"{text}: the bot's token is not accepted")
    if refusal.status == HTTPStatus.TOO_MANY_REQUESTS or refusal.code == _TOO_FAST_HERE:
        scope: Literal["chat", "bot"] = "bot" if refusal.for_bot else "chat"
        return NotSent(text, retry_after=refusal.retry_after, scope=scope)
    cut_off = refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if not refusal.from_api or (cut_off and refusal.code == 0):
        return answered_by_proxy(refusal.status, text)
    if cut_off:
        return NotSent(text, retry_after=refusal.retry_after)
    return _refused_by_discord(refusal, text, in_thread=in_thread)


def _refused_by_discord(refusal: Refusal, text: str, *, in_thread: bool) -> DeliveryError:
    # A thread is a channel of its own: an error about it says nothing of its parent channel.
    error_type: type[DeliveryError] = ThreadGone if in_thread else ChatGone
    if refusal.code == MISSING_PERMISSIONS:
        return error_type(f"{text}: the bot may not write there; give its role the permission")
    if refusal.code in _GONE:
        return error_type(text)
    return ThreadGone(text) if refusal.code in _THREAD_GONE else Refused(text)


def receiving_error(name: str, error: Refusal | DeliveryError) -> ChannelError:
    """The meaning of a failed call while receiving: a refused token, or that the channel
    is down.
    """
    if not isinstance(error, Refusal):
        return ChannelDown(str(error))
    if error.status == HTTPStatus.UNAUTHORIZED:
        return refused_token(name)
    return ChannelDown(f"Discord: {error}", retry_after=error.retry_after)


def refused_token(name: str) -> BadCredentials:
    """The error for a refused token."""
    return BadCredentials(
        f"Discord refuses the token of channels.{name}. On discord.com/developers/applications "
        f"choose your application, Bot, Reset Token, and put the new one into "
        f"channels.{name}.token; with an api_root of your own, check that too."
    )


def _unanswered(error: Exception) -> NotSent | OutcomeUnknown:
    words = f"{type(error).__name__}: {error}".rstrip(": ")
    if may_have_arrived(error):
        return OutcomeUnknown(f"no answer from Discord: {words}")
    return NotSent(f"no connection to Discord: {words}")
