"""The e-mail channel against a real mailbox: Dovecot, and aiosmtpd for what goes out."""

from __future__ import annotations

import asyncio
import base64
import imaplib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from nanobot.errors import BadCredentials, ChannelDown, OutcomeUnknown
from nanobot.messages import Address
from nanobot_channels.email.channel import EmailChannel
from nanobot_channels.email.settings import settings_of
from tests.channels.test_email_sending import part_of
from tests.doubles.dovecot import DOVECOT, OPENSSL, Dovecot, dovecot
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.mail_server import AUTHSERV, OWNER, PASSWORD, USER, MailServer, letter

pytestmark = pytest.mark.skipif(
    not (DOVECOT and OPENSSL),
    reason="needs dovecot 2.3 (apt-get install dovecot-imapd) and openssl",
)


@pytest.fixture
def box() -> Iterator[Dovecot]:
    with dovecot() as server:
        yield server


@pytest.fixture
async def smtp(box: Dovecot) -> AsyncIterator[MailServer]:
    async with MailServer() as server:
        server.on_sent = box.keep_copy
        yield server


def channel_of(box: Dovecot, smtp: MailServer, **more: object) -> EmailChannel:
    settings = settings_of("email", smtp.settings | box.settings | more)
    tls = box.client_tls() if settings.tls else None
    return EmailChannel("email", settings, tls=tls, idle_seconds=5.0)


@asynccontextmanager
async def running(channel: EmailChannel, intake: FakeIntake) -> AsyncIterator[asyncio.Task[None]]:
    before = intake.signs_of_life
    task = asyncio.create_task(channel.run(intake))
    try:
        await intake.until(lambda: intake.signs_of_life > before)
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_mails_come_are_marked_and_answered(box: Dovecot, smtp: MailServer) -> None:
    box.deliver(letter("old"))
    channel, intake = channel_of(box, smtp, sent_folder="Sent"), FakeIntake()
    async with running(channel, intake):
        box.deliver(letter("hello", subject="Hi", message_id="<q@x>"))
        (message,) = await intake.received(1)
        await smtp.until(lambda: box.read_count() == 1)
    box.deliver(letter("while away"))
    async with running(channel, intake):
        await intake.received(2)
    assert [message.text for message in intake.messages] == ["Subject: Hi\n\nhello", "while away"]
    smtp.smtp_faults["."] = "drop after"
    part = part_of("Yes.", reply_to=message.message_id)
    assert await channel_of(box, smtp, sent_folder="Sent").find(message.address, part, 0.0) is None
    with pytest.raises(OutcomeUnknown):
        await channel_of(box, smtp, sent_folder="Sent").send(message.address, part)
    assert smtp.sent[0]["Subject"] == "Re: Hi"
    message_id = await channel_of(box, smtp, sent_folder="Sent").find(message.address, part, 0.0)
    assert f"<{message_id}>" == smtp.sent[0]["Message-ID"]


async def test_a_large_file_is_fetched(box: Dovecot, smtp: MailServer) -> None:
    content = bytes(range(256)) * 20_000
    body = (
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nsee\r\n--x\r\n"
        b'Content-Type: video/mp4; name="a(b.mp4"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
        + base64.encodebytes(content).replace(b"\n", b"\r\n")
        + b"--x--\r\n"
    )
    channel, intake = channel_of(box, smtp), FakeIntake()
    async with running(channel, intake):
        box.deliver(letter(body=body))
        (message,) = await intake.received(1)
    (file,) = message.attachments
    assert file.name == "a(b.mp4"
    assert await channel.fetch(file, 10_000_000) == content


async def test_a_folder_that_was_numbered_anew_goes_on(box: Dovecot, smtp: MailServer) -> None:
    channel, intake = channel_of(box, smtp), FakeIntake()
    async with running(channel, intake):
        box.deliver(letter("one", message_id="<one@x>"))
        await intake.received(1)
    first = intake.stored
    box.renumber()
    box.deliver(letter("two", message_id="<two@x>"))
    async with running(channel, intake):
        await intake.until(
            lambda: any(message.dedupe_key == "two@x" for message in intake.messages)
        )
    assert {message.dedupe_key for message in intake.messages} == {"one@x", "two@x"}
    assert (first or "").split(":")[0] != (intake.stored or "").split(":")[0]


async def test_tls_on_both_ways(box: Dovecot, smtp: MailServer) -> None:
    smtp.tls = box.server_tls()
    channel, intake = channel_of(box, smtp, tls=True, imap_port=box.tls_port), FakeIntake()
    async with running(channel, intake):
        box.deliver(letter("hello"))
        await intake.received(1)
    await channel.send(Address("email", OWNER), part_of("Yes."))
    assert len(smtp.sent) == 1
    assert (await channel.check()).who == "bot@example.org"


async def test_what_is_wrong_is_said(box: Dovecot, smtp: MailServer) -> None:
    with pytest.raises(BadCredentials, match="app password"):
        await channel_of(box, smtp, password="another").check()
    with pytest.raises(ChannelDown, match="993"):
        await channel_of(box, smtp, tls=True).check()
    strange = EmailChannel(
        "email",
        settings_of(
            "email", smtp.settings | box.settings | {"tls": True, "imap_port": box.tls_port}
        ),
    )
    with pytest.raises(ChannelDown, match="SSL_CERT_FILE"):
        await strange.check()
    with pytest.raises(ChannelDown, match=r"nowhere\.invalid"):
        await channel_of(box, smtp, tls=True, imap_host="nowhere.invalid").check()
    with pytest.raises(ChannelDown, match="Nothing"):
        await channel_of(box, smtp, folder="Nothing").check()


async def test_a_header_behind_a_bare_carriage_return_is_none_as_for_the_server(
    box: Dovecot, smtp: MailServer
) -> None:
    """Dovecot delivers such bytes as they are, and finds no such header in the mail."""
    forged = f"Authentication-Results: {AUTHSERV}; dmarc=pass header.from=example.com".encode()
    channel, intake = channel_of(box, smtp), FakeIntake()
    async with running(channel, intake):
        raw = letter("forged", subject="x", checked=None)
        box.deliver(raw.replace(b"Subject: x", b"Subject: x\r" + forged))
        with imaplib.IMAP4("127.0.0.1", box.port) as own:
            own.login(USER, PASSWORD)
            own.select("INBOX", readonly=True)
            assert own.search(None, "HEADER", "Subject", "dmarc=pass") == ("OK", [b"1"])
            assert own.search(None, "HEADER", "Authentication-Results", "dmarc") == ("OK", [b""])
        box.deliver(letter("real"))
        (message,) = await intake.received(1)
    assert message.text == "real"
