"""Discord's gateway: one connection after another, resumed where Discord allows it.

https://discord.com/developers/docs/events/gateway
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any

import aiohttp
import discord
import msgspec
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import HTTPClient, Route
from discord.state import ConnectionState
from loguru import logger
from yarl import URL

from nanobot.errors import BadCredentials, ChannelDown, NotSent, OutcomeUnknown
from nanobot.ports import Clock
from nanobot_channels.common.numbers import seconds
from nanobot_channels.discord.http import DiscordHttp, Refusal, receiving_error, refused_token

EVENTS = (
    "READY",
    "RESUMED",
    "GUILD_CREATE",
    "GUILD_ROLE_CREATE",
    "GUILD_ROLE_UPDATE",
    "CHANNEL_CREATE",
    "THREAD_CREATE",
    "THREAD_LIST_SYNC",
    "MESSAGE_CREATE",
    "MESSAGE_DELETE",
    "MESSAGE_DELETE_BULK",
    "MESSAGE_UPDATE",
    "MESSAGE_REACTION_ADD",
    "INTERACTION_CREATE",
)
"""The events in use; discord.py would parse them into a cache that is not needed here."""

HEARTBEAT_TIMEOUT = 60.0
"""Seconds of silence after which the connection is dropped and resumed; Discord answers a heartbeat
every 41 s.
"""

_OPENING_SECONDS = 60.0
_OFTEN = 5
_OFTEN_SECONDS = 60.0
_BAD_FRAME = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
_LOST = (OSError, aiohttp.ClientError, TimeoutError, zlib.error, ReconnectWebSocket)
# https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
_BAD_TOKEN = 4004
_DISALLOWED_INTENTS = 4014
_FINAL = {
    4010: "the shard is invalid",
    4011: "the bot is in too many servers for one connection (sharding is required)",
    4012: "the version of the gateway is not known any more; update discord.py",
    4013: "the intents are invalid",
}

# Voice is not used here, and the library warns about it on the standard error stream.
discord.VoiceClient.warn_nacl = False
discord.VoiceClient.warn_dave = False

OnEvent = Callable[[str, Any], None]


class Session(msgspec.Struct, frozen=True):
    """The state to resume with: Discord resends the events after `sequence`."""

    id: str
    sequence: int
    url: str


class _Limits(msgspec.Struct):
    remaining: int = 1
    reset_after: float = 0.0


class _Access(msgspec.Struct):
    url: str
    session_start_limit: _Limits = msgspec.field(default_factory=_Limits)


class _Client(discord.Client):
    """discord.py's client with our transport, and our handlers instead of its cache."""

    def __init__(self, http: DiscordHttp, intents: discord.Intents, timeout: float) -> None:
        self._our_http = http
        super().__init__(
            intents=intents,
            max_messages=None,
            heartbeat_timeout=timeout,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
        )

    def _get_state(self, **options: Any) -> ConnectionState[Any]:
        self.http: HTTPClient = self._our_http
        return super()._get_state(**options)

    def hear(self, on_event: OnEvent) -> None:
        """Pass every event to `on_event`, undecoded."""

        def handler(event: str) -> Callable[[Any], None]:
            return lambda data: on_event(event, data)

        self._connection.parsers = {event: handler(event) for event in EVENTS}


class Gateway:
    """One bot's connection for as long as it lasts; `session` outlives it."""

    def __init__(
        self, name: str, http: DiscordHttp, clock: Clock, url: str, intents: discord.Intents
    ) -> None:
        self.session: Session | None = None
        self.timeout = HEARTBEAT_TIMEOUT
        self.bad_frames = 0
        self._name = name
        self._http = http
        self._clock = clock
        self._url = url
        self._intents = intents
        self._ready = False
        self._on_alive: Callable[[], None] = lambda: None
        self._on_event: OnEvent = lambda _event, _data: None

    async def listen(self, on_event: OnEvent, on_alive: Callable[[], None]) -> None:
        """Receive until cancelled. A lost connection is resumed at once; one that cannot be opened,
        or is lost repeatedly, raises ChannelDown. Raises BadCredentials if Discord refuses the bot
        permanently.
        """
        self._on_event = on_event
        self._on_alive = on_alive
        began: deque[float] = deque(maxlen=_OFTEN)
        while True:
            now = self._clock.monotonic()
            if len(began) == _OFTEN and now - began[0] < _OFTEN_SECONDS:
                raise ChannelDown("Discord closes the connection again and again")
            began.append(now)
            again = await self._connected()
            if not again:
                self.session = None
                # The least and the most that Discord asks for before a new session.
                await self._clock.sleep(random.uniform(1.0, 5.0))  # noqa: S311

    async def _connected(self) -> bool:
        """One connection from its beginning to its end; returns whether it can be resumed."""
        self._ready = False
        async with _Client(self._http, self._intents, self.timeout) as client:
            client.hear(self._receive)
            url = await self._address()
            try:
                socket = await self._open(client, url)
            except _LOST as error:
                raise ChannelDown(f"no connection to Discord's gateway: {error!r}") from error
            except discord.ConnectionClosed as closed:
                raise self._final(closed.code) from closed
            try:
                return await self._follow(socket)
            finally:
                if socket.session_id:
                    sequence = socket.sequence or 0
                    self.session = Session(socket.session_id, sequence, str(socket.gateway))
                # Any code other than 1000 keeps the session, so that it can be resumed.
                await socket.close(4000)

    async def _follow(self, socket: DiscordWebSocket) -> bool:
        try:
            while True:
                await self._poll(socket)
                if self._ready:
                    self._on_alive()
        except ReconnectWebSocket as lost:
            if not self._ready and lost.resume:
                raise ChannelDown("Discord's gateway closed before it was ready") from lost
            logger.info("{}: the connection to Discord ended, connecting again", self._name)
            return lost.resume
        except discord.ConnectionClosed as closed:
            raise self._final(closed.code) from closed
        except (OSError, aiohttp.ClientError, zlib.error) as error:
            logger.warning("{}: the connection to Discord broke: {!r}", self._name, error)
            if not self._ready:
                raise ChannelDown(f"Discord's gateway: {error!r}") from error
            return True

    async def _poll(self, socket: DiscordWebSocket) -> None:
        """One frame; an unreadable one is counted and skipped."""
        try:
            await socket.poll_event()
        except _BAD_FRAME as error:
            if not self._ready:
                raise ChannelDown(
                    f"Discord's gateway speaks another language: {error!r}"
                ) from error
            self.bad_frames += 1
            logger.warning("{}: frame after {} skipped: {!r}", self._name, socket.sequence, error)

    def _receive(self, event: str, data: Any) -> None:
        if event in {"READY", "RESUMED"}:
            self._ready = True
        self._on_event(event, data)

    async def _open(self, client: _Client, url: str) -> DiscordWebSocket:
        session = self.session
        async with asyncio.timeout(_OPENING_SECONDS):
            if session is None:
                return await DiscordWebSocket.from_client(client, initial=True, gateway=URL(url))
            return await DiscordWebSocket.from_client(
                client,
                initial=True,
                # The user's own gateway is between us and every address.
                gateway=URL(self._url or session.url),
                session=session.id,
                sequence=session.sequence,
                resume=True,
            )

    async def _address(self) -> str:
        if self._url or self.session is not None:
            return self._url
        try:
            answer = await self._http.request(Route("GET", "/gateway/bot"))
            access = msgspec.convert(answer, _Access, strict=False)
        except (Refusal, NotSent, OutcomeUnknown) as error:
            raise receiving_error(self._name, error) from error
        except msgspec.ValidationError as error:
            raise ChannelDown(f"Discord does not tell where its gateway is: {error}") from error
        limits = access.session_start_limit
        if limits.remaining <= 0:
            wait = seconds(limits.reset_after, per_second=1000)
            raise ChannelDown("no new session of this bot is allowed today", retry_after=wait)
        return access.url

    def _final(self, code: int) -> BadCredentials | ChannelDown:
        if code == _BAD_TOKEN:
            return refused_token(self._name)
        if code == _DISALLOWED_INTENTS:
            return BadCredentials(
                f"Discord does not let the bot of channels.{self._name} read messages. On "
                "discord.com/developers/applications choose your application, Bot, and switch on "
                "Message Content Intent; or set "
                f"channels.{self._name}.message_content = false to hear only direct messages and "
                "mentions."
            )
        if code in _FINAL:
            return BadCredentials(f"Discord refuses channels.{self._name}: {_FINAL[code]} ({code})")
        return ChannelDown(f"Discord's gateway closed the connection ({code})")
