"""Calls to a Matrix homeserver's client-server API, and the meaning of a failed one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

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
from nanobot_channels.common.http import Connections, may_have_arrived, read_at_most
from nanobot_channels.common.numbers import seconds
from nanobot_channels.common.platform_clock import PlatformClock
from nanobot_channels.common.proxy_answers import answered_by_proxy
from nanobot_channels.common.shapes import string, table

CALL_SECONDS = 20.0
_CONNECT_SECONDS = 10.0
_TRANSFER = aiohttp.ClientTimeout(total=300.0, connect=_CONNECT_SECONDS, sock_read=60.0)
_LOST_TOKEN = {"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"}
_WRONG = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_SHUT_OUT = {"M_USER_DEACTIVATED", "M_USER_LOCKED", "M_USER_SUSPENDED"}
# Errors about the whole account or server, not about one room.
_NOT_NOW = {"M_CONSENT_NOT_GIVEN", "M_RESOURCE_LIMIT_EXCEEDED", "M_LIMIT_EXCEEDED"}

_Shape = TypeVar("_Shape")
Request = tuple[str, ...]
"""Method, path and, if there is one, body."""


class ApiRefusal(Exception):
    """The homeserver refused the call. `code` is its errcode, "" if the response was not its own;
    `retry_after` in seconds.
    """

    def __init__(self, what: str, status: int, error: _Error, retry_after: float | None) -> None:
        reason = error.error or "no usable answer"
        super().__init__(f"Matrix, {what}: {error.errcode or 'no errcode'} ({status}): {reason}")
        self.status = status
        self.code = error.errcode
        self.retry_after = retry_after

    @property
    def passing(self) -> bool:
        """Whether the same call may succeed later."""
        return self.status == 429 or self.status >= 500 or self.code in _NOT_NOW


class NoAnswer(Exception):
    """There was no response. `sent`: the request may have arrived."""

    def __init__(self, what: str, error: Exception, *, sent: bool) -> None:
        super().__init__(f"Matrix, {what}: {type(error).__name__} {error}".rstrip())
        self.sent = sent


FAILED = (ApiRefusal, NoAnswer)


class Account(msgspec.Struct, frozen=True):
    """The homeserver and its user, with an access token, or with a password for `device`."""

    homeserver: str
    user: str = ""
    password: str = ""
    access_token: str = ""
    device: str = ""


class _Error(msgspec.Struct, frozen=True):
    errcode: str = ""
    error: str = ""


class _SignedIn(msgspec.Struct, frozen=True):
    access_token: str
    user_id: str


class _Whoami(msgspec.Struct, frozen=True):
    user_id: str


class Api:
    """One account on one homeserver. Methods raise ApiRefusal or NoAnswer; none retries a call.

    A token obtained with a password is kept in memory only.
    """

    def __init__(self, account: Account, clock: Clock) -> None:
        self.account = account
        self.time = PlatformClock(clock)
        self.user_id = ""
        """The owner of the token; known once `sign_in` has returned."""
        self._token = ""
        self._connections = Connections(account.homeserver)
        self._signing_in = asyncio.Lock()

    async def sign_in(self) -> str:
        """The account's user id; signs in if that has not happened or the token was lost."""
        async with self._signing_in:
            if self._token:
                return self.user_id
            if self.account.access_token:
                token = self.account.access_token
                answer = await self._ask("whoami", _whoami(), token=token)
                self.user_id = _convert("whoami", answer, _Whoami).user_id
            else:
                answer = await self._ask("login", self._login())
                signed_in = _convert("login", answer, _SignedIn)
                token, self.user_id = signed_in.access_token, signed_in.user_id
            self._token = token
            return self.user_id

    async def call(
        self, what: str, request: Request, *, seconds: float = CALL_SECONDS
    ) -> dict[str, Any]:
        """The response to a request; `what` names it in errors."""
        await self.sign_in()
        return await self._ask(what, request, token=self._token, seconds=seconds)

    async def download(self, request: Request, limit: int) -> bytes:
        """The bytes of a response, at most `limit`. Also raises TooMuch."""
        await self.sign_in()
        with self._answering("download", token := self._token):
            answer = await self._open(request, token=token, timeout=_TRANSFER)
            async with answer:
                if answer.status != HTTPStatus.OK:
                    raise _refusal("download", answer, await answer.read())
                return await read_at_most(answer, limit)

    async def upload(self, request: Request, content: bytes, mime: str) -> str:
        """Upload content; returns its mxc:// address."""
        await self.sign_in()
        with self._answering("upload", token := self._token):
            answer = await self._open(
                request[:2], token=token, timeout=_TRANSFER, data=content, mime=mime
            )
            uri = string((await _read("upload", answer)).get("content_uri"))
            if not uri.startswith("mxc://"):
                raise ValueError("no content_uri")
            return uri

    async def sign_out(self) -> None:
        """End the session that a password created; its device is removed with it."""
        if self._token and not self.account.access_token:
            token, self._token = self._token, ""
            await self._ask("logout", ("POST", path("logout"), "{}"), token=token)

    async def close(self) -> None:
        await self._connections.close()

    def _login(self) -> Request:
        account = self.account
        user = {"type": "m.id.user", "user": account.user}
        content = {"type": "m.login.password", "identifier": user, "password": account.password}
        content |= {"device_id": account.device, "initial_device_display_name": "nanobot"}
        return ("POST", path("login"), msgspec.json.encode(content).decode())

    @contextmanager
    def _answering(self, what: str, token: str) -> Iterator[None]:
        """Converts exceptions raised inside to ApiRefusal or NoAnswer; forgets a lost token."""
        try:
            yield
        except ApiRefusal as error:
            if error.code in _LOST_TOKEN and token == self._token:
                self._token = ""
            raise
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise NoAnswer(what, error, sent=may_have_arrived(error)) from error

    async def _ask(
        self, what: str, request: Request, *, token: str = "", seconds: float = CALL_SECONDS
    ) -> dict[str, Any]:
        timeout = aiohttp.ClientTimeout(total=seconds, connect=_CONNECT_SECONDS)
        data = request[2].encode() if len(request) > 2 else None
        with self._answering(what, token):
            answer = await self._open(request, token=token, timeout=timeout, data=data)
            return await _read(what, answer)

    async def _open(
        self,
        request: Request,
        *,
        token: str,
        timeout: aiohttp.ClientTimeout,
        data: bytes | None = None,
        mime: str = "application/json",
    ) -> aiohttp.ClientResponse:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if data is not None:
            headers["Content-Type"] = mime
        url = URL(self.account.homeserver + request[1], encoded=True)
        answer = await self._connections.session().request(
            request[0], url, data=data, headers=headers, timeout=timeout
        )
        self.time.read_date(answer.headers.get("Date"))
        return answer


def path(*parts: str, version: str = "v3") -> str:
    """The path of an endpoint, its parts percent-encoded."""
    return f"/_matrix/client/{version}/" + "/".join(
        quote(part, safe="", errors="replace") for part in parts
    )


def _whoami() -> Request:
    return ("GET", path("account", "whoami"))


async def _read(what: str, answer: aiohttp.ClientResponse) -> dict[str, Any]:
    async with answer:
        body = await answer.read()
    if answer.status != HTTPStatus.OK:
        raise _refusal(what, answer, body)
    try:
        return _json_object(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the answer is not a JSON object: {error}") from error


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        # An out-of-range number in one event of an old room must not cost all others.
        value = json.loads(body)
        if not isinstance(value, dict):
            raise
        return value


def _refusal(what: str, answer: aiohttp.ClientResponse, body: bytes) -> ApiRefusal:
    try:
        fields = table(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError):
        fields = {}
    error = _Error(string(fields.get("errcode")), string(fields.get("error")))
    after_ms = fields.get("retry_after_ms")
    after = seconds(answer.headers.get("Retry-After"))
    if after_ms is not None:
        after = seconds(after_ms, per_second=1000)
    return ApiRefusal(what, answer.status, error, after)


def _convert(what: str, answer: dict[str, Any], kind: type[_Shape]) -> _Shape:
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise NoAnswer(what, error, sent=True) from error


def delivery_error(error: ApiRefusal | NoAnswer) -> DeliveryError:
    """The port's error for a failed send."""
    if isinstance(error, NoAnswer):
        return OutcomeUnknown(str(error)) if error.sent else NotSent(str(error))
    if error.status == 429 or error.code == "M_LIMIT_EXCEEDED":
        # Homeservers count all sends of an account, in whichever room.
        return NotSent(str(error), error.retry_after, "bot")
    if not error.code or (error.code == "M_UNKNOWN" and error.status >= 500):
        # An error inside the homeserver may come after the event was stored.
        return answered_by_proxy(error.status, str(error))
    if error.passing or error.code in _LOST_TOKEN | _SHUT_OUT:
        return NotSent(str(error), error.retry_after)
    if error.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
        return ChatGone(f"{error}: the bot is not in the room, or may not write there; invite it")
    return Refused(str(error))


def receiving_error(name: str, error: ApiRefusal | NoAnswer, account: Account) -> Exception:
    """The meaning of a failed call for the whole channel: BadCredentials or ChannelDown."""
    if isinstance(error, NoAnswer):
        return ChannelDown(f"{error}. {_where(name, account)}" if not error.sent else str(error))
    if error.code in _SHUT_OUT:
        return BadCredentials(
            f"{error}. Ask the administrator of {account.homeserver} to reactivate it."
        )
    if error.code in _LOST_TOKEN:
        if account.access_token:
            return BadCredentials(
                f"{error}. The token's session was ended: sign in again, and put the new token "
                f"into channels.{name}.access_token, or use channels.{name}.password instead."
            )
        return ChannelDown(
            f"{error}. The homeserver ended the session; signing in again. If this happens "
            f"repeatedly, another nanobot uses the same account: give each a separate account."
        )
    if error.status == HTTPStatus.NOT_FOUND:
        return ChannelDown(f"{error}. {_where(name, account)}")
    return ChannelDown(str(error), error.retry_after)


def sign_in_error(name: str, error: ApiRefusal | NoAnswer, account: Account) -> Exception:
    """The meaning of a failed sign-in: BadCredentials or ChannelDown."""
    refused = isinstance(error, ApiRefusal) and error.status in _WRONG and not error.passing
    if refused and not account.access_token and not _shuts_out(error):
        return BadCredentials(
            f"{error}. Check channels.{name}.user and channels.{name}.password; where the "
            f"homeserver takes no passwords, put a token into channels.{name}.access_token."
        )
    return receiving_error(name, error, account)


def _shuts_out(error: ApiRefusal | NoAnswer) -> bool:
    return isinstance(error, ApiRefusal) and error.code in _SHUT_OUT


def _where(name: str, account: Account) -> str:
    return (
        f"Is {account.homeserver} the homeserver's own address (channels.{name}.homeserver)? "
        "For @you:example.org, https://example.org/.well-known/matrix/client says which it is."
    )
