"""The e-mail channel against a mail server on loopback: what goes out, and what becomes of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import ChatGone, DeliveryError, NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address, Attachment, Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.email.channel import EmailChannel
from nanobot_channels.email.parts import Envelope, as_bytes, as_html, composed, render, subject_of
from nanobot_channels.email.reading import Ignored, MessageIds, Reader
from nanobot_channels.email.settings import settings_of
from tests.channels.test_email_mime import scanned
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.mail_server import AUTHSERV, OWNER, MailServer, letter


def channel_of(mail: MailServer, **more: object) -> EmailChannel:
    settings = settings_of("email", mail.settings | more)
    return EmailChannel("email", settings, idle_seconds=0.3)


@asynccontextmanager
async def running(channel: EmailChannel, intake: FakeIntake) -> AsyncIterator[None]:
    task = asyncio.create_task(channel.run(intake))
    try:
        await intake.until(lambda: intake.signs_of_life > 0)
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def part_of(
    text: str, key: str = "k", *, reply_to: str | None = None, choices: tuple[Choice, ...] = ()
) -> OutboundPart:
    message = OutboundMessage(
        address=Address("email", OWNER), text=text, key=key, reply_to=reply_to, choices=choices
    )
    (part,) = render(message)
    return part


async def test_an_answer_stands_in_its_thread(mail: MailServer) -> None:
    channel, intake = channel_of(mail), FakeIntake()
    long_id = "a" * 120 + "@mail.example.com"
    headers = f"References: <root@x> <{long_id}>"
    async with running(channel, intake):
        mail.deliver(letter("and?", subject="Größe", message_id="<q@x>", headers=headers))
        (message,) = await intake.received(1)
    part = part_of("**Yes.**", reply_to=message.message_id)
    message_id = await channel.send(message.address, part)
    (answer,) = mail.sent
    assert answer["Subject"] == "Re: Größe"
    assert answer["In-Reply-To"] == "<q@x>"
    assert str(answer["References"]).split() == ["<root@x>", f"<{long_id}>", "<q@x>"]
    assert f"<{long_id}>".encode() in mail.raw_sent[0]
    assert (answer["To"], mail.recipients) == (OWNER, [OWNER])
    assert answer["Message-ID"] == f"<{message_id}>"
    assert answer["Auto-Submitted"] == "auto-replied"
    assert answer.get_body(("plain",)).get_content().strip() == "**Yes.**"
    assert "<strong>Yes.</strong>" in answer.get_body(("html",)).get_content()


async def test_after_a_restart_the_mail_is_looked_up(mail: MailServer) -> None:
    mail.deliver(letter("q", subject="Hi", message_id="<q@x>", headers="References: <root@x>"))
    address = Address("email", OWNER, "root@x")
    await channel_of(mail).send(address, part_of("a", reply_to="q@x"))
    assert mail.sent[0]["Subject"] == "Re: Hi"
    assert str(mail.sent[0]["References"]) == "<root@x> <q@x>"


async def test_an_answer_to_a_mail_that_is_gone_still_has_its_thread(mail: MailServer) -> None:
    address = Address("email", OWNER, "root@x")
    await channel_of(mail).send(address, part_of("a", reply_to="q@x"))
    assert mail.sent[0]["Subject"] == "Re: your mail"
    assert str(mail.sent[0]["References"]) == "<root@x> <q@x>"


async def test_a_thread_that_began_elsewhere_is_continued_from_its_last_mail(
    mail: MailServer,
) -> None:
    mail.deliver(letter("q", subject="Lunch", message_id="<q@x>", headers="References: <root@x>"))
    await channel_of(mail).send(Address("email", OWNER, "root@x"), part_of("a reminder"))
    (reply,) = mail.sent
    assert (reply["Subject"], reply["In-Reply-To"]) == ("Re: Lunch", "<q@x>")
    assert str(reply["References"]).split() == ["<root@x>", "<q@x>"]


async def test_while_the_mailbox_is_away_an_answer_waits(mail: MailServer) -> None:
    mail.faults["LOGIN"] = "drop"
    with pytest.raises(NotSent):
        await channel_of(mail).send(Address("email", OWNER, "q@x"), part_of("a", reply_to="q@x"))
    assert not mail.raw_sent


async def test_what_nobody_asked_begins_a_conversation(mail: MailServer) -> None:
    await channel_of(mail).send(Address("email", OWNER), part_of("## Tea\n\nIt is *ready*."))
    (first_mail,) = mail.sent
    assert first_mail["Subject"] == "Tea"
    assert first_mail["In-Reply-To"] is None
    assert first_mail["Auto-Submitted"] == "auto-generated"


async def test_the_same_part_has_the_same_id_and_another_person_another(mail: MailServer) -> None:
    channel, address = channel_of(mail), Address("email", OWNER)
    first = await channel.send(address, part_of("a", "one"))
    assert await channel_of(mail).send(address, part_of("a, again", "one")) == first
    assert await channel.send(address, part_of("a", "two")) != first
    assert await channel.send(Address("email", "bob@example.net"), part_of("a", "one")) != first


async def test_a_file_is_a_mail_with_a_file(mail: MailServer) -> None:
    file = Attachment(kind="image", name="größe.png", mime="image/png")
    part = OutboundPart(text="", key="k:1", file=file)
    await channel_of(mail).send_file(Address("email", OWNER), part, b"\x89PNG" * 1_000)
    (attached,) = mail.sent[0].iter_attachments()
    assert (attached.get_filename(), attached.get_content_type()) == ("größe.png", "image/png")
    assert attached.get_content() == b"\x89PNG" * 1_000


FAULTS: list[tuple[str, str, type[DeliveryError], int]] = [
    ("MAIL", "421 4.3.2 shutting down", NotSent, 0),
    ("MAIL", "550 5.7.1 not your address", Refused, 0),
    ("MAIL", "drop", NotSent, 0),
    ("RCPT", "450 4.2.1 try later", NotSent, 0),
    ("RCPT", "552 5.2.2 mailbox full", NotSent, 0),
    ("RCPT", "550 5.1.1 no such person", ChatGone, 0),
    ("RCPT", "553 no", ChatGone, 0),
    ("RCPT", "554 5.7.1 relay denied", Refused, 0),
    ("RCPT", "drop", NotSent, 0),
    ("DATA", "451 4.3.0 not now", NotSent, 0),
    ("DATA", "554 5.6.0 no", Refused, 0),
    ("DATA", "drop", NotSent, 0),
    (".", "450 4.7.1 greylisted", NotSent, 0),
    (".", "552 5.3.4 too large", Refused, 0),
    (".", "550 5.1.1 no such person", ChatGone, 0),
    (".", "554 5.7.1 spam", Refused, 0),
    (".", "354 go on", OutcomeUnknown, 0),
    (".", "drop", OutcomeUnknown, 0),
    (".", "drop after", OutcomeUnknown, 1),
]


@pytest.mark.parametrize(("step", "fault", "error", "arrived"), FAULTS)
async def test_a_send_says_what_became_of_it(
    mail: MailServer, step: str, fault: str, error: type[DeliveryError], arrived: int
) -> None:
    mail.smtp_faults[step] = fault
    channel, address = channel_of(mail), Address("email", OWNER)
    with pytest.raises(DeliveryError) as caught:
        await channel.send(address, part_of("hello"))
    assert type(caught.value) is error
    assert len(mail.raw_sent) == arrived
    await channel.send(address, part_of("hello"))
    assert len(mail.raw_sent) == arrived + 1


async def test_every_completion_code_means_that_the_mail_was_taken(mail: MailServer) -> None:
    mail.smtp_faults["."] = "251 taken, and forwarded"
    assert await channel_of(mail).send(Address("email", OWNER), part_of("hello"))


async def test_no_connection_and_a_refused_login_are_not_sent(mail: MailServer) -> None:
    with pytest.raises(NotSent):
        await channel_of(mail, smtp_port=1).send(Address("email", OWNER), part_of("a"))
    mail.password = "another"
    with pytest.raises(NotSent, match="app password") as caught:
        await channel_of(mail).send(Address("email", OWNER), part_of("a"))
    assert caught.value.scope == "bot"


async def test_an_address_that_is_none_is_refused_for_good(mail: MailServer) -> None:
    for chat in ("ann", "ann@", "ann@example.com\r\nRCPT TO:<b@c>", ""):
        with pytest.raises(ChatGone):
            await channel_of(mail).send(Address("email", chat), part_of("a"))


async def test_a_mail_of_unknown_fate_is_looked_up_among_the_copies(mail: MailServer) -> None:
    mail.keeps_copies = True
    channel, address = channel_of(mail, sent_folder="Sent"), Address("email", OWNER)
    assert channel.capabilities.reconciles
    assert not channel_of(mail).capabilities.reconciles
    part = part_of("hello")
    assert await channel.find(address, part, 0.0) is None
    mail.smtp_faults["."] = "drop after"
    with pytest.raises(OutcomeUnknown):
        await channel.send(address, part)
    assert await channel.find(address, part, 0.0) == mail.sent[0]["Message-ID"].strip("<>")
    mail.faults["SEARCH"] = "NO not now"
    with pytest.raises(NotSent):
        await channel.find(address, part, 0.0)
    with pytest.raises(NotSent, match="Elsewhere"):
        await channel_of(mail, sent_folder="Elsewhere").find(address, part, 0.0)


# Mails that come back


def bounce(message_id: str, recipient: str = OWNER, action: str = "failed") -> bytes:
    body = f"""Content-Type: multipart/report; report-type=delivery-status; boundary=x

--x
Content-Type: text/plain

It could not be delivered.
--x
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.org

Final-Recipient: rfc822; {recipient}
Action: {action}
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 no such person
--x
Content-Type: text/rfc822-headers

Message-ID: <{message_id}>
Subject: x
--x--
"""
    return letter(body=body.encode(), sender="MAILER-DAEMON@example.org", headers="Return-Path: <>")


async def settled(mail: MailServer, channel: EmailChannel, raw: bytes) -> FakeIntake:
    """The channel has seen this mail."""
    intake = FakeIntake()
    async with running(channel, intake):
        mail.deliver(raw)
        mail.deliver(letter("the end", sender="bob@example.net"))
        await intake.received(1)
    assert [message.text for message in intake.messages] == ["the end"]
    return intake


async def test_an_address_that_bounces_gets_nothing_until_it_writes(mail: MailServer) -> None:
    channel, address = channel_of(mail), Address("email", OWNER)
    message_id = await channel.send(address, part_of("hello"))
    await settled(mail, channel, bounce(message_id))
    with pytest.raises(ChatGone, match="no such person"):
        await channel.send(address, part_of("more"))
    intake = FakeIntake()
    async with running(channel, intake):
        mail.deliver(letter("here I am"))
        await intake.received(1)
    await channel.send(address, part_of("more"))


async def test_a_delayed_or_forged_bounce_changes_nothing(mail: MailServer) -> None:
    channel, address = channel_of(mail), Address("email", OWNER)
    message_id = await channel.send(address, part_of("hello"))
    for raw in (
        bounce(message_id, action="delayed"),
        bounce(message_id, recipient="bob@example.net"),
        bounce("nb-" + "0" * 24 + "." + "0" * 16 + "@example.org"),
        bounce("else@where"),
    ):
        await settled(mail, channel, raw)
    await channel.send(address, part_of("more"))


# Rendering


def test_choices_are_lines_to_answer_with() -> None:
    part = part_of("May I?", choices=(Choice("Yes", "/approve 12"), Choice("No", "/deny 12")))
    assert "1. Yes: answer with `/approve 12`" in part.text
    assert "2. No: answer with `/deny 12`" in part.text


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "<img src=https://evil.net/x>",
        "![x](https://evil.net/secret.png)",
        "![x](data:image/png;base64,AAAA)",
        '[x](https://example.org"onclick=alert(1))',
        '<https://example.org/"><script>',
        "```html\n<script>\n```",
    ],
)
def test_html_is_harmless_whatever_the_text(text: str) -> None:
    html = as_html(text)
    assert not re.search(
        r"<(script|img|iframe|link|style|object)|javascript:[^<]*\"|=\"data:", html
    )
    assert not re.search(r"<[^>]*\son\w+=", html)


@given(st.text(max_size=300))
def test_any_text_becomes_a_mail_that_says_it(text: str) -> None:
    for part in render(OutboundMessage(address=Address("email", OWNER), text=text, key="k")):
        raw = as_bytes(composed(part, envelope(subject=text)))
        assert max(map(len, raw.split(b"\r\n"))) <= 998
        text_part = next(
            candidate for candidate in scanned(raw).parts if candidate.type == "text/plain"
        )
        assert " ".join(text_part.text().split()) == " ".join(part.text.split())


def envelope(subject: str = "x") -> Envelope:
    return Envelope(
        sender="bot@example.org",
        recipient=OWNER,
        subject=subject,
        message_id="m@x",
        references=("a@x",),
        unasked=False,
        now=1_000.0,
    )


def test_our_own_mails_are_never_answered() -> None:
    """Two bots that write to each other."""
    theirs = Reader("email", OWNER, [AUTHSERV], MessageIds(OWNER, "p"))
    for part in (part_of("a"), part_of("a", reply_to="q@x")):
        raw = as_bytes(composed(part, envelope()))
        checked = f"Authentication-Results: {AUTHSERV}; dmarc=pass header.from=example.org\r\n"
        result = theirs.read(scanned(checked.encode() + raw), "1:1", 1_000.0)
        assert isinstance(result, Ignored)
        assert "automatically" in result.why


def test_a_subject_is_how_the_text_begins() -> None:
    assert subject_of("\n\n**The** `tea`\nis ready") == "The tea"
    assert subject_of("") == "A message"
    assert len(subject_of("word " * 100)) <= 70
