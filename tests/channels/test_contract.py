"""The channels there are, against the checks that are shipped for authors of others.

A new one: write its platform below and add it to PLATFORMS.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)
from typing import Any

import pytest

from nanobot.errors import ChannelDown, DeliveryError, NotSent, OutcomeUnknown, StoreError
from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.ports import Channel, Intake, OutboundPart
from nanobot.testing.channels import (
    CHECKS,
    Check,
    Platform,
    acknowledges_only_what_was_admitted,
    fails_in_the_words_of_the_port,
    may_be_run_again,
    renders_whole_texts,
    sends_parts_in_order,
    tells_messages_apart,
)
from nanobot.testing.machine import ManualClock
from nanobot.testing.platform import FakeChannel
from nanobot_channels import email
from nanobot_channels.common.settings import Table
from nanobot_channels.discord import DiscordChannel, Server
from nanobot_channels.discord.parts import has_components
from nanobot_channels.matrix import MatrixChannel
from nanobot_channels.matrix.api import Account
from nanobot_channels.mattermost import open_channel as open_mattermost
from nanobot_channels.slack import SlackChannel
from nanobot_channels.slack.parts import payload_of as payload_of_slack
from nanobot_channels.telegram import TelegramChannel
from nanobot_channels.telegram.parts import payload_of
from nanobot_channels.udp import MAX_BYTES, UdpChannel
from nanobot_channels.whatsapp import WhatsAppChannel
from nanobot_channels.whatsapp.parts import content_of
from nanobot_channels.whatsapp.settings import Settings as WhatsAppSettings
from nanobot_channels.whatsapp.settings import settings_of
from tests.doubles import discord_rules, discord_server
from tests.doubles.discord_server import DiscordServer
from tests.doubles.mail_server import MailServer, letter
from tests.doubles.matrix_rooms import oversized
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.mattermost_server import MattermostServer
from tests.doubles.slack_methods import START
from tests.doubles.slack_rules import shown_text
from tests.doubles.slack_server import SlackServer
from tests.doubles.telegram_server import TelegramServer
from tests.doubles.webhooks import door
from tests.doubles.whatsapp_rules import shown_text as whatsapp_text
from tests.doubles.whatsapp_server import ANN, WhatsAppServer

SETTINGS = {"token": "long enough", "port": 0}


class Fake:
    """The channel in memory."""

    def __init__(self, platform: type[FakeChannel] = FakeChannel) -> None:
        self._made = platform
        self._open = platform("checked")
        self._count = 0
        self._done = 0

    def channel(self) -> FakeChannel:
        self._open = self._made("checked", limit=100)
        return self._open

    async def say(self, text: str) -> None:
        self._count += 1
        await self._push(text)

    async def _push(self, text: str) -> None:
        try:
            await self._open.push(text, key=f"said {self._count}")
        except StoreError:
            return
        self._done += 1

    async def again(self) -> None:
        await self._push("once more")

    async def disturb(self) -> None:
        """Nothing comes here that it has not made itself."""

    def acknowledged(self) -> int:
        return self._done

    def shown(self) -> list[str]:
        return [message.text for message in self._open.sent]

    def fits(self, part: OutboundPart) -> bool:
        return len(part.text) <= 100

    def refuse(self, chat: Address) -> Address:
        self._open.fail(NotSent("the line is cut"), chat=chat.chat_id)
        return chat


class Telegram:
    """A Bot API server on loopback."""

    def __init__(self, server: TelegramServer) -> None:
        self._server = server

    def channel(self) -> Channel:
        server = self._server
        return TelegramChannel("checked", server.token, server.root_url, poll_seconds=1)

    async def say(self, text: str) -> None:
        self._server.say(1, text)

    async def again(self) -> None:
        """It delivers again by itself."""

    async def disturb(self) -> None:
        self._server.push(chat_boost={"boost": 1})
        self._server.push(message={"message_id": "odd", "chat": 7})
        self._server.push(callback_query={})

    def acknowledged(self) -> int:
        return len(self._server.acknowledged)

    def shown(self) -> list[str]:
        return [message.text for message in self._server.messages(1)]

    def fits(self, part: OutboundPart) -> bool:
        limit = 32_768 if payload_of(part).html else 4_096
        return len(part.text.encode("utf-16-le")) // 2 <= limit

    def refuse(self, chat: Address) -> Address:
        self._server.block(int(chat.chat_id))
        return chat


class Udp:
    """A script that talks to the channel over UDP."""

    def __init__(self) -> None:
        self._script = socket.socket(type=socket.SOCK_DGRAM)
        self._script.bind(("127.0.0.1", 0))
        self._script.setblocking(False)
        self._open = UdpChannel("checked", SETTINGS)
        self._count = 0
        self.answers: list[dict[str, Any]] = []

    async def __aenter__(self) -> Udp:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._script.close()

    def channel(self) -> Channel:
        self._open = UdpChannel("checked", SETTINGS)
        return self._open

    async def say(self, text: str) -> None:
        self._count += 1
        self._send({"token": SETTINGS["token"], "id": f"{self._count}", "text": text})

    def _send(self, request: object) -> None:
        data = request if isinstance(request, bytes) else json.dumps(request).encode()
        self._script.sendto(data, self._open.listen().getsockname())

    async def again(self) -> None:
        self._count -= 1
        await self.say("once more")

    async def disturb(self) -> None:
        odd: tuple[object, ...] = (b"", b"\xff", b"{", b"[" * 5_000, [], {"token": 1}, {"id": "1"})
        for request in (*odd, {"token": "wrong token", "id": "1", "text": "let me in"}):
            self._send(request)

    def acknowledged(self) -> int | None:
        return None

    def shown(self) -> list[str]:
        with suppress(BlockingIOError):
            while True:
                self.answers.append(json.loads(self._script.recv(MAX_BYTES)))
        return [reply["text"] for reply in self.answers if not reply["is_error"]]

    def fits(self, part: OutboundPart) -> bool:
        answer = {"id": "1" * 200, "text": part.text} | json.loads(part.payload)
        return len(json.dumps(answer, ensure_ascii=False).encode()) <= MAX_BYTES

    def refuse(self, chat: Address) -> Address:
        return Address(chat.channel, "a session")


class Discord:
    """A gateway and a REST API on loopback. Nobody acknowledges a single event there."""

    def __init__(self, server: DiscordServer) -> None:
        self._server = server

    def channel(self) -> Channel:
        where = Server(api_root=self._server.api_root)
        return DiscordChannel("checked", self._server.token, where, clock=ManualClock())

    async def say(self, text: str) -> None:
        await self._server.say(discord_server.DM, text)

    async def again(self) -> None:
        """The channel looks for it in the history."""

    async def disturb(self) -> None:
        await self._server.dispatch("NOBODY_KNOWS", {"what": "ever"})
        await self._server.dispatch("MESSAGE_CREATE", {"id": "odd"})
        await self._server.dispatch("INTERACTION_CREATE", {})

    def acknowledged(self) -> int | None:
        return None

    def shown(self) -> list[str]:
        contents = [
            discord_rules.shown_text(message) for message in self._server.mine(discord_server.DM)
        ]
        return [re.sub(r"\\(.)", r"\1", content) for content in contents]

    def fits(self, part: OutboundPart) -> bool:
        return len(part.text) <= (4_000 if has_components(part) else 2_000)

    def refuse(self, chat: Address) -> Address:
        return Address(chat.channel, "999")


class Slack:
    """A workspace on loopback."""

    def __init__(self, server: SlackServer) -> None:
        self._server = server

    def channel(self) -> Channel:
        server = self._server
        tokens = (server.bot_token, server.app_token)
        return SlackChannel("checked", tokens, server.api_root, clock=ManualClock(START + 3_600))

    async def say(self, text: str) -> None:
        self._server.say("D1", text)

    async def again(self) -> None:
        self._server.redeliver()

    async def disturb(self) -> None:
        await self._server.send_raw("no JSON")
        self._server.push("of_a_new_kind", {"what": "ever"})
        self._server.event({"type": "message", "channel": 7})

    def acknowledged(self) -> int:
        return sum(envelope.acknowledged for envelope in self._server.envelopes.values())

    def shown(self) -> list[str]:
        sent = self._server.sent("D1")
        return [shown_text(message["blocks"]) or message["text"] for message in sent]

    def fits(self, part: OutboundPart) -> bool:
        return len(payload_of_slack(part).markdown) <= 12_000

    def refuse(self, chat: Address) -> Address:
        return Address(chat.channel, "D999")


class Email:
    """A mailbox on loopback, and the server that sends for it."""

    def __init__(self, server: MailServer) -> None:
        self._server = server

    def channel(self) -> Channel:
        return email.open_channel("checked", self._server.settings)

    async def say(self, text: str) -> None:
        self._server.deliver(letter(text))

    async def again(self) -> None:
        """It is found in the folder."""

    async def disturb(self) -> None:
        for raw in (b"", b"\xff\xfe", b"From: @\r\n\r\n", letter(checked=None)):
            self._server.deliver(raw)

    def acknowledged(self) -> int:
        return sum(r"\Seen" in mail.flags for mail in self._server.inbox.mails)

    def shown(self) -> list[str]:
        bodies = [mail.get_body(("plain",)) for mail in self._server.sent]
        return [body.get_content() for body in bodies]

    def fits(self, part: OutboundPart) -> bool:
        return len(part.text) <= 200_000

    def refuse(self, chat: Address) -> Address:
        self._server.smtp_faults["RCPT"] = "550 5.1.1 no such person"
        return chat


@asynccontextmanager
async def mailbox() -> AsyncIterator[Platform]:
    async with MailServer() as server:
        yield Email(server)


class Matrix:
    """A homeserver on loopback; with the next poll it is told what has arrived."""

    def __init__(self, server: MatrixServer) -> None:
        self._server = server

    def channel(self) -> Channel:
        account = Account(self._server.root_url, access_token=self._server.token)
        return MatrixChannel("checked", account)

    async def say(self, text: str) -> None:
        self._server.say(self._server.dm, text)

    async def again(self) -> None:
        """It delivers again by itself."""

    async def disturb(self) -> None:
        rooms, dm = self._server.rooms, self._server.dm
        rooms.add(dm, "m.of.a.new.kind", {"what": "ever"}, sender="@ann:loopback")
        odd = rooms.add(
            dm, "m.room.message", {"body": 7, "m.relates_to": 1}, sender="@ann:loopback"
        )
        odd["origin_server_ts"] = "yesterday"
        rooms.add(dm, "m.room.message", {}, sender="@ann:loopback")["content"] = None

    def acknowledged(self) -> int:
        return self._server.acknowledged()

    def shown(self) -> list[str]:
        return self._server.texts(self._server.dm)

    def fits(self, part: OutboundPart) -> bool:
        twice = {"body": part.text, "m.new_content": part.text, "html": part.payload.decode()}
        return not oversized(twice)

    def refuse(self, chat: Address) -> Address:
        return Address(chat.channel, "!elsewhere:loopback")


class WhatsApp:
    """Meta's API on loopback, which delivers to a server in front of the channel."""

    def __init__(self, server: WhatsAppServer, doors: AsyncExitStack) -> None:
        self._server = server
        self._doors = doors
        self._heard_by: Intake | None = None

    def channel(self) -> Channel:
        return HeardBy(self, "checked", settings_of(Table("checked", self._server.settings)))

    async def begins(self, channel: WhatsAppChannel, intake: Intake) -> None:
        self._heard_by = intake
        url = await self._doors.enter_async_context(door(channel, lambda: intake))
        self._server.deliveries.url = url

    async def say(self, text: str) -> None:
        await self._server.say(ANN, text)

    async def again(self) -> None:
        await self._server.deliveries.again()

    async def disturb(self) -> None:
        await self._server.push_raw(b"no JSON")
        await self._server.push_raw([1, {"entry": 7}])
        await self._server.push(messages=[{"id": 7}, {"type": "text"}, 1], statuses=[{}, "x"])
        await self._server.say(ANN, type="poll_creation", poll_creation={})

    def acknowledged(self) -> int:
        return sum(delivery.acknowledged for delivery in self._server.deliveries.all)

    def shown(self) -> list[str]:
        return self._server.texts(ANN)

    def fits(self, part: OutboundPart) -> bool:
        body = content_of(part, plain=False, previews=False)
        return len(part.text) <= 4_096 and len(whatsapp_text({**body})) <= 4_096

    def refuse(self, chat: Address) -> Address:
        return Address(chat.channel, "not a number")


class HeardBy(WhatsAppChannel):
    """A channel whose platform knows which intake it runs with: its requests go there."""

    def __init__(self, platform: WhatsApp, name: str, settings: WhatsAppSettings) -> None:
        super().__init__(name, settings)
        self._platform = platform

    async def run(self, intake: Intake) -> None:
        await self._platform.begins(self, intake)
        await super().run(intake)


class Mattermost:
    """A server on loopback, and its websocket. Nobody acknowledges a post there."""

    def __init__(self, server: MattermostServer) -> None:
        self._server = server

    def channel(self) -> Channel:
        channel = open_mattermost("checked", self._server.settings)
        channel.reached_at("https://bot.example.org/channels/checked")
        return channel

    async def say(self, text: str) -> None:
        await self._server.say(self._server.dm, text)

    async def again(self) -> None:
        """The channel looks for it in what was posted."""

    async def disturb(self) -> None:
        await self._server.raw("no JSON")
        await self._server.event("of_a_new_kind", {"what": "ever"})
        await self._server.event("posted", {"post": '{"id": 7}'})
        await self._server.event("reaction_added", {"reaction": "x"})

    def acknowledged(self) -> int | None:
        return None

    def shown(self) -> list[str]:
        return [re.sub(r"\\(.)", r"\1", text) for text in self._server.texts(self._server.dm)]

    def fits(self, part: OutboundPart) -> bool:
        return len(part.text) <= 16_383

    def refuse(self, chat: Address) -> Address:
        return Address(chat.channel, "elsewhere")


@asynccontextmanager
async def mattermost() -> AsyncIterator[Platform]:
    async with MattermostServer() as server:
        yield Mattermost(server)


@asynccontextmanager
async def whatsapp() -> AsyncIterator[Platform]:
    async with WhatsAppServer() as server, AsyncExitStack() as doors:
        yield WhatsApp(server, doors)


@asynccontextmanager
async def fake(platform: type[FakeChannel] = FakeChannel) -> AsyncIterator[Platform]:
    yield Fake(platform)


@asynccontextmanager
async def telegram() -> AsyncIterator[Platform]:
    async with TelegramServer() as server:
        yield Telegram(server)


@asynccontextmanager
async def discord() -> AsyncIterator[Platform]:
    async with DiscordServer() as server:
        yield Discord(server)


@asynccontextmanager
async def slack() -> AsyncIterator[Platform]:
    async with SlackServer() as server:
        yield Slack(server)


@asynccontextmanager
async def matrix() -> AsyncIterator[Platform]:
    async with MatrixServer() as server:
        yield Matrix(server)


PLATFORMS: tuple[Callable[[], AbstractAsyncContextManager[Platform]], ...] = (
    fake,
    telegram,
    discord,
    slack,
    matrix,
    Udp,
    mailbox,
    whatsapp,
    mattermost,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: platform.__name__)
async def test_a_channel_keeps_what_the_port_promises(
    platform: Callable[[], AbstractAsyncContextManager[Platform]], check: Check
) -> None:
    async with platform() as opened:
        await check(opened)


# Errors that the platform did not write


async def test_what_a_proxy_says_leaves_the_outcome_unknown() -> None:
    for status in (500, 502, 503, 504, 520):
        for applied in (False, True):
            page: dict[str, Any] = {"status": status, "drop": "after" if applied else ""}
            for name, fails, error in await _sends_that_fail(page | {"body": b"<html>"}):
                assert (name, error) == (name, OutcomeUnknown), (status, applied, fails)


async def test_what_the_platform_says_itself_in_its_own_form_was_not_applied() -> None:
    failed = await _sends_that_fail(None)
    assert [(name, error) for name, _fault, error in failed] == [
        (name, NotSent) for name in ("telegram", "discord", "slack", "matrix")
    ]


async def _sends_that_fail(
    page: dict[str, Any] | None,
) -> list[tuple[str, dict[str, Any], type[Exception]]]:
    """How a send ends on each platform that speaks HTTP: behind that page of a proxy, or with the
    platform's own words that it is too busy."""
    ended = []
    async with TelegramServer() as server:
        fault = page or {"status": 500, "description": "Internal Server Error"}
        server.fail("sendMessage", **fault)
        ended.append(("telegram", fault, await _end(Telegram(server), Address("checked", "1"))))
    async with DiscordServer() as server:
        fault = page or {"status": 503, "code": 130000}
        server.fail("POST /channels/{channel}/messages", **fault)
        address = Address("checked", discord_server.DM)
        ended.append(("discord", fault, await _end(Discord(server), address)))
    async with SlackServer() as server:
        fault = page or {"status": 503, "error": "service_unavailable"}
        server.fail("chat.postMessage", **fault)
        ended.append(("slack", fault, await _end(Slack(server), Address("checked", "D1"))))
    async with MatrixServer() as server:
        own = {"errcode": "M_RESOURCE_LIMIT_EXCEEDED"}
        fault = page or {"status": 503, "answer": own}
        server.fail("/send/", **{name: how for name, how in fault.items() if name != "body"})
        ended.append(("matrix", fault, await _end(Matrix(server), Address("checked", server.dm))))
    return ended


async def _end(platform: Platform, address: Address) -> type[Exception]:
    channel = platform.channel()
    try:
        await channel.send(address, OutboundPart(text="hello", key="k:0"))
    except DeliveryError as error:
        return type(error)
    finally:
        await channel.close()
    raise AssertionError("the send did not fail")


# The checks find what they look for


class Losing(FakeChannel):
    """Cuts what is too long."""

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        return super().render(message)[:1]


class Hollow(FakeChannel):
    """Renders nothing as nothing."""

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        return [OutboundPart(text=message.text[:100])]


class Forgetful(FakeChannel):
    """Gives every message the same key."""

    async def push(self, text: str, **fields: Any) -> InboundMessage:
        return await super().push(text, **fields | {"key": "same"})


class Pretending(FakeChannel):
    """Claims to have sent."""

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        return "sent"


class Stubborn(FakeChannel):
    """Ends when it cannot go on."""

    async def run(self, intake: Intake) -> None:
        intake.alive()
        raise ChannelDown("it is all too much")


class Hasty(Fake):
    """Is told that messages arrived before they did."""

    async def _push(self, text: str) -> None:
        self._done += 1
        await super()._push(text)


@pytest.mark.parametrize(
    ("platform", "check", "promise"),
    [
        (Fake(Losing), renders_whole_texts, "no word is lost"),
        (Fake(Hollow), renders_whole_texts, "no part of '' is empty"),
        (Fake(Forgetful), tells_messages_apart, "two messages have two keys"),
        (Fake(Pretending), sends_parts_in_order, "send returns an id for each part"),
        (Fake(Pretending), fails_in_the_words_of_the_port, "a send that failed says so"),
        (Fake(Stubborn), may_be_run_again, "run continues until it is cancelled"),
        (Hasty(), acknowledges_only_what_was_admitted, "before admit has returned"),
    ],
)
async def test_a_broken_promise_is_named(platform: Platform, check: Check, promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        await check(platform)
