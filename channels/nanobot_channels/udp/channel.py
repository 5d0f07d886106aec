"""UDP on loopback, for daemons and scripts of this machine: a whole channel to learn from."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Mapping
from contextlib import suppress
from socket import SOCK_DGRAM, SOCK_NONBLOCK, socket
from typing import Annotated

import msgspec

from nanobot.errors import ChannelDown, ConfigError, NotSent, Refused
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.ports import Capabilities, Intake, OutboundPart, Setup, SetupField

MAX_BYTES = 65_000  # of one request; UDP's own limit is 65,507
PIECE = 10_000  # characters of one answer: six bytes each, if all are escaped, still fit

SETUP = Setup(
    title="UDP",
    steps="For scripts of this machine. Make up a secret that they show, of 8 characters or more.",
    docs="docs/channels/udp.md",
    fields=(SetupField(key="token", asks="Secret", secret=True, variables=("NANOBOT_UDP_TOKEN",)),),
    only="udp",
)


class _Settings(msgspec.Struct):
    token: Annotated[str, msgspec.Meta(min_length=8)]
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 8766
    host: Annotated[str, msgspec.Meta(pattern=r"^127(\.\d{1,3}){3}$")] = "127.0.0.1"


class _Request(msgspec.Struct):
    token: str
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: str
    session: Annotated[str, msgspec.Meta(max_length=200)] = ""


class UdpChannel:
    """`{"token", "id", "text", "session"?}` in, `{"id", "text", "is_error", "part", "parts"}` out.

    A chat is a session, otherwise a peer. Its thread is the peer and the request's id, so that an
    answer arrives even after a restart. Every sender is "udp".
    """

    capabilities = Capabilities()

    def __init__(self, name: str, settings: Mapping[str, object]) -> None:
        try:
            self._settings = msgspec.convert(settings, _Settings, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"channels.{name}: {error}; it needs a token, and a port") from None
        self._name = name
        self._socket: socket | None = None

    def listen(self) -> socket:
        """The bound socket; it outlives `run`, for answers still in the outbox."""
        if self._socket is None:
            self._socket = socket(type=SOCK_DGRAM | SOCK_NONBLOCK)
        if not self._socket.getsockname()[1]:
            self._socket.bind((self._settings.host, self._settings.port))
        return self._socket

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. Raises ChannelDown when it cannot listen."""
        try:
            listening, loop = self.listen(), asyncio.get_running_loop()
            intake.alive()
            while True:
                data, peer = await loop.sock_recvfrom(listening, 1 << 16)
                await self._take(intake, data, f"{peer[0]}:{peer[1]}")
        except OSError as error:
            raise ChannelDown(f"channels.{self._name} hears nothing: {error}") from error

    def _read(self, data: bytes) -> _Request:
        if len(data) > MAX_BYTES:
            raise msgspec.ValidationError(f"a request has at most {MAX_BYTES} bytes")
        request = msgspec.json.decode(data, type=_Request)
        if not hmac.compare_digest(request.token.encode(), self._settings.token.encode()):
            raise msgspec.ValidationError("the token is wrong")
        return request

    async def _take(self, intake: Intake, data: bytes, peer: str) -> None:
        try:
            request = self._read(data)
        except (ValueError, RecursionError) as error:
            with suppress(NotSent):
                if b'"is_error"' not in data:  # answering an answer could loop forever
                    await self._send(peer, id="", text=f"not taken: {error}", is_error=True)
            return
        message = InboundMessage(
            address=Address(self._name, request.session or peer, f"{peer}/{request.id}"),
            message_id=request.id,
            dedupe_key=request.id,
            sender=Sender("udp"),
            text=request.text,
            sent_at=time.time(),
        )
        await intake.admit([message])

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The Markdown unchanged, in pieces that fit into a packet; choices are written out."""
        text = message.text if message.text.strip() else "(empty message)"
        text += "".join(f"\n- `{choice.say}`: {choice.label}" for choice in message.choices)
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        ends = {"parts": len(pieces), "is_error": message.failed}
        payloads = [msgspec.json.encode({"part": n, **ends}) for n in range(1, len(pieces) + 1)]
        return [OutboundPart(text=t, payload=p) for t, p in zip(pieces, payloads, strict=True)]

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one packet. Raises NotSent, or Refused for a session that has not asked."""
        peer, _, to = (address.thread_id or address.chat_id).partition("/")
        more = msgspec.json.decode(part.payload or b"{}")
        await self._send(peer, id=to, text=part.text, **({"is_error": False} | more))
        return f"{peer}/{part.key}"

    async def _send(self, peer: str, **answer: object) -> None:
        host, _, port = peer.rpartition(":")
        if not port.isdecimal():
            raise Refused(f"no program has sent a request in the session {peer}")
        try:
            loop, there = asyncio.get_running_loop(), (host, int(port))
            await loop.sock_sendto(self.listen(), msgspec.json.encode(answer), there)
        except (OSError, OverflowError) as error:
            raise NotSent(f"{peer}: {error}") from error

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """Always None: UDP has no look-up of packets."""

    async def typing(self, address: Address) -> None:
        """Does nothing: the protocol has no typing indicator."""

    async def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


open_channel = UdpChannel
