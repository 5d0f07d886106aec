"""A file of any name and of any media type is sent, under a name that breaks no request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeAlias

import pytest

from nanobot.messages import Address, Attachment
from nanobot.ports import Channel, Filing, OutboundPart
from nanobot_channels.whatsapp import WhatsAppChannel
from tests.channels.test_contract import (
    Discord,
    Email,
    Matrix,
    Mattermost,
    Slack,
    Telegram,
    WhatsApp,
)
from tests.doubles import discord_server
from tests.doubles.discord_server import DiscordServer
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.mail_server import MailServer
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.mattermost_server import MattermostServer
from tests.doubles.slack_server import SlackServer
from tests.doubles.telegram_server import TelegramServer
from tests.doubles.whatsapp_server import ANN, WhatsAppServer

Opened: TypeAlias = AbstractAsyncContextManager[tuple[Channel, str, Callable[[], str]]]
"""A channel, a chat of it, and the name of the last file there."""


@asynccontextmanager
async def telegram() -> AsyncIterator[tuple[Channel, str, Callable[[], str]]]:
    async with TelegramServer() as server:
        server.know(1)

        def shown() -> str:
            file = server.messages(1)[-1].file
            assert file is not None
            return file.name

        yield Telegram(server).channel(), "1", shown


@asynccontextmanager
async def discord() -> AsyncIterator[tuple[Channel, str, Callable[[], str]]]:
    async with DiscordServer() as server:
        route = "POST /channels/{channel}/messages"
        shown = lambda: str(server.calls_of(route)[-1].files[0][0])  # noqa: E731
        yield Discord(server).channel(), discord_server.DM, shown


@asynccontextmanager
async def slack() -> AsyncIterator[tuple[Channel, str, Callable[[], str]]]:
    async with SlackServer() as server:
        shown = lambda: str(server.sent("D1")[-1]["files"][0]["title"])  # noqa: E731
        yield Slack(server).channel(), "D1", shown


@asynccontextmanager
async def matrix() -> AsyncIterator[tuple[Channel, str, Callable[[], str]]]:
    async with MatrixServer() as server:
        shown = lambda: str(server.mine(server.dm)[-1]["filename"])  # noqa: E731
        yield Matrix(server).channel(), server.dm, shown


@asynccontextmanager
async def mattermost() -> AsyncIterator[tuple[Channel, str, Callable[[], str]]]:
    async with MattermostServer() as server:
        shown = lambda: str(list(server.files.values())[-1]["info"]["name"])  # noqa: E731
        yield Mattermost(server).channel(), server.dm, shown


async def written_to(platform: WhatsApp) -> WhatsAppChannel:
    """A channel to which the person has written: otherwise nothing is sent to them."""
    channel = platform.channel()
    assert isinstance(channel, WhatsAppChannel)
    await platform.begins(channel, FakeIntake())
    await platform.say("hello")
    return channel


@asynccontextmanager
async def whatsapp() -> AsyncIterator[tuple[Channel, str, Callable[[], str]]]:
    async with WhatsAppServer() as server, AsyncExitStack() as doors:
        shown = lambda: str(server.sent_to(ANN)[-1]["document"]["filename"])  # noqa: E731
        yield await written_to(WhatsApp(server, doors)), ANN, shown


@asynccontextmanager
async def mailbox() -> AsyncIterator[tuple[Channel, str, Callable[[], str]]]:
    async with MailServer() as server:

        def shown() -> str:
            (file,) = server.sent[-1].iter_attachments()
            return str(file.get_filename())

        yield Email(server).channel(), "ann@example.org", shown


PLATFORMS: tuple[Callable[[], Opened], ...] = (
    telegram,
    discord,
    slack,
    matrix,
    mattermost,
    whatsapp,
    mailbox,
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../plans/a.bin", "a.bin"),
        ("a\r\nX-Evil: 1\r\n\r\nb.bin", "a X-Evil_ 1 b.bin"),
        ('Bericht "März" 1.bin', "Bericht _März_ 1.bin"),
        ("\x00\x1b.bin", "bin"),
        ("", "file"),
    ],
)
@pytest.mark.parametrize("mime", ["application/pdf", "a/b\r\nX: y", "no type", "", "x" * 5_000])
@pytest.mark.parametrize("opened", PLATFORMS, ids=lambda opened: opened.__name__)
async def test_a_file_is_sent_under_a_name_that_people_can_save(
    opened: Callable[[], Opened], mime: str, name: str, shown: str
) -> None:
    async with opened() as (channel, chat, last):
        assert isinstance(channel, Filing)
        file = Attachment(kind="document", name=name, mime=mime)
        part = OutboundPart(text="", key="k:0", file=file)
        try:
            assert await channel.send_file(Address("checked", chat), part, b"words")
        finally:
            await channel.close()
        assert last() == shown or (not name and last().startswith(("document", "file")))
