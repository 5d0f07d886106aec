"""Socket Mode: one websocket after the other, each envelope through bolt, acknowledged late.

slack_sdk's own connection retries forever in silence if Slack refuses, drops exceptions in its
tasks, and closes the old connection before it has a new one; this one reports to its owner.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import aiohttp
from loguru import logger
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.adapter.socket_mode.internals import build_headers
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from nanobot.errors import BadCredentials, ChannelDown
from nanobot.ports import Clock
from nanobot.system import proxy_for
from nanobot_channels.common.shapes import string, table
from nanobot_channels.slack.api import FAILED, MALFORMED, WebApi, library_log, receiving_error
from nanobot_channels.slack.events import BotUser

PING_SECONDS = 10.0
# A connection that lived for less than this is not replaced at once.
_SHORT_LIFE_SECONDS = 5.0
_CLOSE_SECONDS = 1.0
SHARED_SECONDS = 0.2
"""The longest delay between two connections that share ordered messages."""
_FRAME_LIMIT = 16 * 1024 * 1024

Take = Callable[[dict[str, Any], str], Awaitable[None]]
"""Receives the payload and the id of an envelope; returns when it may be acknowledged."""


class Handler(AsyncSocketModeHandler):
    """Bolt's handler without its connection: every envelope ends in `take`, and is acknowledged
    when that has returned.
    """

    def __init__(self, web: WebApi, app_token: str, me: BotUser, take: Take) -> None:
        async def account(**_: object) -> AuthorizeResult:
            # By default bolt calls auth.test at the first event and, if that fails, acknowledges.
            return AuthorizeResult(
                enterprise_id=None,
                team_id=None,
                bot_user_id=me.user_id,
                bot_id=me.bot_id,
                bot_token=web.client.token,
            )

        async def commit(request: AsyncBoltRequest) -> BoltResponse:
            await take(request.body, str(request.context.get("envelope_id", "")))
            return BoltResponse(status=HTTPStatus.OK, body="")

        self.app = AsyncApp(
            client=web.client,
            authorize=account,
            name="nanobot",  # bolt would name it after the file that its caller is in, found slowly
            logger=library_log(),
            process_before_response=True,
            ignoring_self_events_enabled=False,
            request_verification_enabled=False,
        )
        # A middleware and not a listener: an envelope without a matching listener is never
        # acknowledged.
        self.app.middleware(commit)
        self.app_token = app_token
        self._take = take

    async def handle(self, client: AsyncBaseSocketModeClient, req: SocketModeRequest) -> None:
        """Dispatch and acknowledge. An envelope that bolt itself cannot read is passed on as empty,
        and then acknowledged: otherwise Slack would deliver it again and again.
        """
        began = time.time()
        status = 0
        try:
            request = AsyncBoltRequest(
                mode="socket_mode",
                body=req.payload,
                headers=build_headers(req),
                context={"envelope_id": req.envelope_id},
            )
            status = (await self.app.async_dispatch(request)).status
        except MALFORMED as error:
            logger.debug("bolt cannot read envelope {}: {!r}", req.envelope_id, error)
        if status != HTTPStatus.OK:
            await self._take({}, req.envelope_id)
        await send_async_response(client, req, BoltResponse(status=HTTPStatus.OK, body=""), began)


class Connection(AsyncBaseSocketModeClient):
    """One websocket. Acknowledgements are sent on the websocket of the envelope."""

    def __init__(self, web: WebApi, app_token: str) -> None:
        self.web_client = web.client
        self.app_token = app_token
        self.logger = library_log()
        self.trace_enabled = False
        self.closed = False
        self.socket: aiohttp.ClientWebSocketResponse | None = None

    async def send_message(self, message: str) -> None:
        """Send a frame; on a closed connection it is lost, and Slack delivers again."""
        if self.socket is None:
            return
        try:
            await self.socket.send_str(message)
        except (ConnectionError, aiohttp.ClientError, RuntimeError) as error:
            logger.debug("slack: an acknowledgement was lost: {!r}", error)

    async def close(self) -> None:
        self.closed = True
        if self.socket is not None:
            await self.socket.close()


class SocketClient:
    """The connection to Slack: whatever happens to one websocket, the next one is opened, or the
    owner is told why not.
    """

    def __init__(
        self, name: str, web: WebApi, app_token: str, *, clock: Clock, ping_seconds: float
    ) -> None:
        self._name = name
        self._web = web
        self._app_token = app_token
        self._ping_seconds = ping_seconds
        self._clock = clock
        self._open_ones: set[Connection] = set()
        self.on_alive: Callable[[], None] = lambda: None
        self.on_gap: Callable[[], Awaitable[None]]
        self._shared_until = 0.0

    def is_shared(self) -> bool:
        """Whether Slack distributes events over two connections, or did until recently."""
        return len(self._open_ones) > 1 or self._clock.monotonic() < self._shared_until

    async def serve(self, handler: Handler, tasks: asyncio.TaskGroup) -> None:
        """Receive until cancelled. `on_gap` is awaited after each connection before which events
        may have been lost. Raises BadCredentials and ChannelDown.
        """
        try:
            while True:
                await self._one_after_another(handler, tasks)
                logger.info("{}: the connection to Slack ended; connecting again", self._name)
        finally:
            for connection in list(self._open_ones):
                await self._close(connection)

    async def _one_after_another(self, handler: Handler, tasks: asyncio.TaskGroup) -> None:
        """A connection and its successors, as long as Slack announces the end of each."""
        began = self._clock.monotonic()
        connection = await self._open()
        await self.on_gap()
        while (following := await self._read(connection, handler, tasks)) is not None:
            connection = following
            began = self._clock.monotonic()
        await self._close(connection)
        if self._clock.monotonic() - began < _SHORT_LIFE_SECONDS:
            raise ChannelDown("Slack ends connections as soon as they are made")

    async def _close(self, connection: Connection) -> None:
        self._open_ones.discard(connection)
        await connection.close()

    async def _open(self) -> Connection:
        """A websocket that has said hello."""
        connection = Connection(self._web, self._app_token)
        self._open_ones.add(connection)
        try:
            async with asyncio.timeout(1.5 * self._ping_seconds):
                url = await self._web.open_socket(self._app_token)
                connection.socket = await self._web.session().ws_connect(
                    url,
                    autoping=False,
                    heartbeat=self._ping_seconds,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                    max_msg_size=_FRAME_LIMIT,
                    proxy=proxy_for(url.replace("ws", "http", 1)),
                    ssl=self._web.client.ssl or True,
                )
                await self._hello(connection.socket)
        except FAILED as error:
            raise receiving_error(self._name, error, "app_token") from error
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            await self._close(connection)
            raise ChannelDown(f"no connection to Slack: {error!r}") from error
        self.on_alive()
        return connection

    async def _hello(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            frame = await socket.receive()
            if frame.type is aiohttp.WSMsgType.TEXT:
                message = _parsed(frame.data)
                if message.get("type") == "hello":
                    return
                if message.get("type") == "disconnect":
                    raise self._ended(message)
            elif frame.type is aiohttp.WSMsgType.PING:
                await socket.pong(frame.data)
            elif frame.type is not aiohttp.WSMsgType.PONG:
                raise ChannelDown("Slack closed the connection before it said hello")

    async def _read(
        self, connection: Connection, handler: Handler, tasks: asyncio.TaskGroup
    ) -> Connection | None:
        """Read until the connection ends (None) or Slack asks for a new one, which is returned."""
        while (message := await self._frame(connection)) is not None:
            if message.get("type") == "disconnect":
                if string(message.get("reason")) not in {"warning", "refresh_requested"}:
                    raise self._ended(message)
                logger.debug("{}: Slack asks for a new connection", self._name)
                # Nothing is lost: the old connection stays until the new one is open, and its
                # remaining messages are read before those of the new one.
                tasks.create_task(self._drain(connection, handler, tasks))
                return await self._open()
            self._dispatch(message, connection, handler, tasks)
        return None

    async def _drain(
        self, connection: Connection, handler: Handler, tasks: asyncio.TaskGroup
    ) -> None:
        """Read the remaining messages of a replaced connection, until Slack closes it."""
        try:
            async with asyncio.timeout(2 * self._ping_seconds):
                while (message := await self._frame(connection)) is not None:
                    if message.get("type") != "disconnect":
                        self._dispatch(message, connection, handler, tasks)
        except TimeoutError:
            logger.debug("{}: the old connection is closed", self._name)
        self._shared_until = self._clock.monotonic() + SHARED_SECONDS
        await self._close(connection)

    async def _frame(self, connection: Connection) -> dict[str, Any] | None:
        """The next message, {} for an unreadable one, None at the end."""
        socket = connection.socket
        while socket is not None:
            frame = await socket.receive()
            if frame.type in {
                aiohttp.WSMsgType.CLOSE,
                aiohttp.WSMsgType.CLOSING,
                aiohttp.WSMsgType.CLOSED,
                aiohttp.WSMsgType.ERROR,
            }:
                return None
            self.on_alive()
            if frame.type is aiohttp.WSMsgType.PING:
                await _pong(socket, frame.data)
            elif frame.type is aiohttp.WSMsgType.TEXT:
                return _parsed(frame.data)
        return None

    def _dispatch(
        self,
        message: dict[str, Any],
        connection: Connection,
        handler: Handler,
        tasks: asyncio.TaskGroup,
    ) -> None:
        envelope_id = message.get("envelope_id")
        if not isinstance(envelope_id, str):
            if message.get("type") != "hello":
                logger.warning("{}: a message without an envelope_id skipped", self._name)
            return
        payload = message.get("payload")
        if not isinstance(payload, dict):
            logger.warning("{}: envelope {} skipped: it has no payload", self._name, envelope_id)
        request = SocketModeRequest(
            type=str(message.get("type")),
            envelope_id=envelope_id,
            payload=table(payload),
            retry_attempt=message.get("retry_attempt"),
            retry_reason=message.get("retry_reason"),
        )
        tasks.create_task(handler.handle(connection, request))

    def _ended(self, message: dict[str, Any]) -> ChannelDown | BadCredentials:
        reason = message.get("reason")
        if reason == "link_disabled":
            return BadCredentials(
                f"Socket Mode is turned off for the app of channels.{self._name}: turn it on at "
                "api.slack.com/apps, Socket Mode."
            )
        return ChannelDown(f"Slack ended the connection: {reason}")


async def _pong(socket: aiohttp.ClientWebSocketResponse, data: bytes) -> None:
    try:
        await socket.pong(data)
    except (ConnectionError, aiohttp.ClientError, RuntimeError) as error:
        logger.debug("slack: no pong: {!r}", error)


def _parsed(data: str) -> dict[str, Any]:
    try:
        return table(json.loads(data))
    except (ValueError, RecursionError):
        return {}
