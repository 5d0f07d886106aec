"""Telegram's transport: one request is one request, and a failure tells whether it went out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram import Bot
from telegram.error import TelegramError

from nanobot.errors import NotSent, OutcomeUnknown
from nanobot.messages import Address
from nanobot.ports import OutboundPart
from nanobot_channels.telegram import TelegramChannel
from nanobot_channels.telegram.http import AiohttpRequest, NoAnswer, NothingSent, _form
from tests.doubles.telegram_server import TelegramServer

CHAT = Address("telegram", "1")
PART = OutboundPart(text="hello")
TOKEN = "424242:secret"
ELSEWHERE = "http://telegram.example"

SENT = b'{"ok": true, "result": {"message_id": 7}}'
CUT = b""


def answer(body: bytes = SENT, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class Wire:
    """Answers with given bytes, one after the other, then hangs up; None waits for the client."""

    script: list[bytes | None]
    root: str = ""
    requests: list[str] = field(default_factory=list)
    connections: int = 0
    requested: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
                self.requests.append(head.splitlines()[0])
                self.requested.set()
                if "content-length: " in head:
                    length = head.partition("content-length: ")[2].split()[0]
                    await reader.readexactly(int(length))
                reply = self.script.pop(0)
                writer.write(reply or b"")
                if reply is None:
                    await reader.read()
                if not reply or not self.script:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def wire(*script: bytes | None) -> AsyncIterator[Wire]:
    scripted = Wire(list(script))
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.root = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield scripted


@asynccontextmanager
async def channel_at(root: str) -> AsyncIterator[TelegramChannel]:
    channel = TelegramChannel("telegram", TOKEN, root)
    try:
        yield channel
    finally:
        await channel.close()


async def test_a_kept_connection_that_dies_unanswered_is_unknown_and_nothing_is_sent_again() -> (
    None
):
    async with wire(answer(), CUT, answer()) as server, channel_at(server.root) as channel:
        assert await channel.send(CHAT, PART) == "7"
        with pytest.raises(OutcomeUnknown):
            await channel.send(CHAT, PART)
        assert server.connections == 1
        assert len(server.requests) == 2
        await channel.send(CHAT, PART)
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    "reply",
    [
        CUT,
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nabcd",
    ],
    ids=repr,
)
async def test_what_breaks_after_the_request_is_unknown_and_happens_once(reply: bytes) -> None:
    async with wire(reply) as server, channel_at(server.root) as channel:
        with pytest.raises(OutcomeUnknown) as raised:
            await channel.send(CHAT, PART)
        assert TOKEN not in str(raised.value)
        assert len(server.requests) == 1


async def test_a_redirect_is_not_followed_and_nothing_was_applied() -> None:
    moved = answer(b"", "302 Found", "location: http://elsewhere.example/")
    async with wire(moved) as server, channel_at(server.root) as channel:
        with pytest.raises(NotSent, match="302"):
            await channel.send(CHAT, PART)
        assert len(server.requests) == 1


async def test_plain_http_behind_an_https_address_means_not_sent(telegram: TelegramServer) -> None:
    async with channel_at(telegram.root_url.replace("http:", "https:")) as channel:
        with pytest.raises(NotSent, match="SSL"):
            await channel.send(CHAT, PART)


async def test_a_name_nobody_knows_means_not_sent() -> None:
    async with channel_at("http://telegram.invalid") as channel:
        with pytest.raises(NotSent) as raised:
            await channel.send(CHAT, PART)
        assert TOKEN not in str(raised.value)


async def test_the_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with wire(answer()) as proxy:
        monkeypatch.setenv("http_proxy", proxy.root)
        async with channel_at(ELSEWHERE) as channel:
            assert await channel.send(CHAT, PART) == "7"
        assert proxy.requests == [f"post {ELSEWHERE}/bot{TOKEN}/sendmessage http/1.1"]


async def test_a_proxy_that_refuses_the_tunnel_means_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with wire(answer(b"", "403 Forbidden")) as proxy:
        monkeypatch.setenv("https_proxy", proxy.root)
        async with channel_at("https://telegram.example") as channel:
            with pytest.raises(NotSent):
                await channel.send(CHAT, PART)


async def test_a_proxy_that_is_not_there_means_not_sent_but_not_for_loopback(
    monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{unused_tcp_port}")
    async with wire(answer()) as server, channel_at(server.root) as near:
        async with channel_at(ELSEWHERE) as far:
            with pytest.raises(NotSent):
                await far.send(CHAT, PART)
        assert await near.send(CHAT, PART) == "7"


# PTB's seam.


@asynccontextmanager
async def bot_at(root: str, connections: int = 1) -> AsyncIterator[Bot]:
    request = AiohttpRequest(root, connections, read_seconds=0.05)
    yield Bot(TOKEN, f"{root}/bot", request=request, get_updates_request=request)
    await request.shutdown()


async def test_silence_after_the_request_is_no_answer() -> None:
    async with wire(None) as server, bot_at(server.root) as bot:
        with pytest.raises(NoAnswer):
            await bot.do_api_request("get_Me")


async def test_waiting_in_vain_for_a_connection_means_nothing_was_sent() -> None:
    async with wire(None) as server, bot_at(server.root) as bot:
        taking = asyncio.create_task(bot.do_api_request("get_Me", read_timeout=None))
        await server.requested.wait()
        with pytest.raises(NothingSent) as raised:
            await bot.do_api_request("get_Me", connect_timeout=0.01, pool_timeout=0.01)
        taking.cancel()
        assert TOKEN not in str(raised.value)
        assert len(server.requests) == 1


async def test_calls_after_the_end_are_refused_before_anything_is_sent() -> None:
    async with wire() as server, bot_at(server.root) as bot:
        await bot.request.shutdown()
        with pytest.raises(NothingSent, match="closed"):
            await bot.do_api_request("get_Me")
        assert not server.requests


@pytest.mark.parametrize("body", [b"[" * 100_000, b"\xff\xfe"], ids=["deep", "no text"])
async def test_an_answer_that_is_no_json_is_an_error_of_telegrams(body: bytes) -> None:
    async with wire(answer(body)) as server, bot_at(server.root) as bot:
        with pytest.raises(TelegramError):
            await bot.do_api_request("get_Me")


@given(st.dictionaries(st.text(min_size=1), st.text(), min_size=1))
def test_a_form_is_read_as_it_was_written(parameters: dict[str, str]) -> None:
    assert dict(parse_qsl(_form(parameters).decode(), keep_blank_values=True)) == parameters


@pytest.mark.parametrize("body", [b"<html>", b"{", b"", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_is_an_error_and_fills_no_log(
    body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(TelegramError, match="Invalid server response"):
        AiohttpRequest.parse_json_payload(body)
    assert not caplog.records
