"""A whole gateway with a mailbox: answers in threads, once, and only those who are who they say."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from email import message_from_bytes
from email.message import Message
from email.policy import default
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.doubles.mail_server import AUTHSERV, OWNER, PASSWORD, USER, MailServer, letter
from tests.process.harness import World, open_world, without_repeats

# A checkout that was installed before there was this channel has to be installed anew.
pytestmark = pytest.mark.skipif(
    not entry_points(group="nanobot.channels", name="email"), reason="not installed with e-mail"
)


def table(mail: MailServer, owner: str = OWNER, more: str = "") -> str:
    return f"""
[channels.email]
imap_host = "127.0.0.1"
imap_port = {mail.imap_port}
smtp_host = "127.0.0.1"
smtp_port = {mail.smtp_port}
tls = false
user = "{USER}"
password = "{PASSWORD}"
trusted_authserv = ["{AUTHSERV}"]
owners = ["{owner}"]
{more}
"""


@pytest.fixture
async def mail(world: World) -> AsyncIterator[MailServer]:
    async with MailServer() as server:
        world.configure(more=table(server, owner="Ann@Example.com"))
        yield server


def said(mail: MailServer) -> list[str]:
    return [message.get_body(("plain",)).get_content().strip() for message in mail.sent]


async def up(world: World, mail: MailServer) -> None:
    await mail.until(lambda: mail.idling >= 1, 20)


async def test_a_mail_is_answered_in_its_thread(world: World, mail: MailServer) -> None:
    gateway = await world.start()
    await up(world, mail)
    mail.deliver(letter("say:hello", subject="Hi", message_id="<q@x>"))
    await mail.until(lambda: said(mail) == ["hello"], 20)
    (answer,) = mail.sent
    assert (answer["Subject"], answer["In-Reply-To"]) == ("Re: Hi", "<q@x>")
    headers = f"References: <q@x> {answer['Message-ID']}"
    mail.deliver(letter("say:and on", subject="Re: Hi", message_id="<r@x>", headers=headers))
    mail.deliver(letter("say:elsewhere", message_id="<s@x>"))
    await mail.until(lambda: len(mail.sent) == 3, 20)
    assert sorted(said(mail)) == ["and on", "elsewhere", "hello"]
    await world.rests(gateway)
    sessions = {key for (key,) in world.rows("SELECT key FROM sessions")}
    assert {f"email:{OWNER}:q@x", f"email:{OWNER}:s@x"} <= sessions


async def test_a_file_reaches_the_workspace(world: World, mail: MailServer) -> None:
    body = (
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nsay:got it\r\n--x\r\n"
        b'Content-Type: text/csv; name="t.csv"\r\n\r\na,b\r\n1,2\r\n--x--\r\n'
    )
    await world.start()
    await up(world, mail)
    mail.deliver(letter(body=body))
    await mail.until(lambda: said(mail) == ["got it"], 20)
    (file,) = world.workspace.rglob("*t.csv")
    assert file.read_bytes() == b"a,b\r\n1,2"


@pytest.mark.parametrize(
    "crash_at",
    [
        "",
        "receipt:before",
        pytest.param("admit:2:after", marks=pytest.mark.slow),
        pytest.param("finish:after", marks=pytest.mark.slow),
    ],
)
async def test_kill_9_between_intake_and_answer_loses_nothing(
    world: World, mail: MailServer, crash_at: str
) -> None:
    """The other points are among those of `make prove`."""
    gateway = await world.launch(crash_at=crash_at) if crash_at else await world.start()
    await up(world, mail)
    mail.deliver(letter("wait:1\nsay:once" if not crash_at else "say:once"))
    if crash_at:
        await gateway.died()
    else:
        await world.asked()
        await gateway.kill()
    mail.deliver(letter("say:meanwhile"))
    await world.start()
    await mail.until(lambda: {"once", "meanwhile"} <= set(without_repeats(said(mail))), 20)
    assert sorted(without_repeats(said(mail))) == ["meanwhile", "once"]
    ids = [message["Message-ID"] for message in mail.sent]
    assert len(set(ids)) == 2  # mail programs show a repeat once


async def test_a_forged_sender_gets_nothing(world: World, mail: MailServer) -> None:
    await world.start()
    await up(world, mail)
    mail.deliver(letter("say:forged", checked=None))
    mail.deliver(letter("say:forged", checked="fail"))
    mail.deliver(letter("say:forged", server="mx.evil.net"))
    mail.deliver(letter("/status", checked=None))
    mail.deliver(letter("say:real"))
    await mail.until(lambda: bool(mail.sent), 20)
    assert said(mail) == ["real"]
    assert len(world.model.requests) == 1
    assert "is not read" in world.log


async def test_a_header_behind_a_bare_carriage_return_forges_nobody(
    world: World, mail: MailServer
) -> None:
    """The mail server takes the forged header for a part of the subject, and does not remove it."""
    forged = f"Authentication-Results: {AUTHSERV}; dmarc=pass header.from=example.com".encode()
    real = letter("say:forged", subject="x", checked=None)
    await world.start()
    await up(world, mail)
    mail.deliver(real.replace(b"Subject: x", b"Subject: x\r" + forged))
    mail.deliver(b"X-Spam: no\r" + forged + b"\r\n" + real)
    mail.deliver(letter("say:real"))
    await mail.until(lambda: bool(mail.sent), 20)
    assert said(mail) == ["real"]
    assert len(world.model.requests) == 1
    assert world.log.count("a carriage return within a line of its headers") == 2


@pytest.mark.parametrize("pairing", [True, False])
async def test_a_checked_stranger_is_told_a_code_or_nothing(
    world: World, mail: MailServer, pairing: bool
) -> None:
    world.configure(more=table(mail, more=f"pairing = {str(pairing).lower()}"))
    await world.start()
    await up(world, mail)
    mail.deliver(letter("say:let me in", sender="bob@example.net"))
    mail.deliver(letter("say:real"))
    await mail.until(lambda: "real" in said(mail), 20)
    if pairing:
        await mail.until(lambda: len(mail.sent) == 2, 20)
    texts = [text for text in said(mail) if text != "real"]
    assert bool(texts) is pairing
    assert all(re.search(r"pairing code is \S{4}-\S{4}", text) for text in texts)
    assert len(world.model.requests) == 1


async def test_two_gateways_do_not_keep_each_other_talking(
    world: World, mail: MailServer, tmp_path: Path
) -> None:
    """Each is the other's owner, and every mail is delivered as checked."""
    (tmp_path / "other").mkdir()
    async with MailServer() as there, open_world(tmp_path / "other") as other:
        world.configure(more=table(mail, owner="twin@example.com"))
        twin = table(there, owner=USER).replace(
            "imap_host", 'address = "twin@example.com"\nimap_host'
        )
        other.configure(more=twin)
        mail.on_sent = lambda raw: void(there.deliver(checked(raw)))
        there.on_sent = lambda raw: void(mail.deliver(checked(raw)))
        await world.start()
        await other.start()
        await up(world, mail)
        await up(other, there)
        mail.deliver(letter("say:hello twin", sender="twin@example.com"))
        await there.until(lambda: len(there.inbox.mails) == 1, 20)
        await other.eventually(lambda: "it was sent automatically" in other.log)
        assert said(mail) == ["hello twin"]
        assert not there.sent
        assert not other.model.requests


def void(_stored: object) -> None:
    """Nothing more is done about it."""


def checked(raw: bytes) -> bytes:
    """As the other's server delivers it."""
    sender: Message = message_from_bytes(raw, policy=default)
    domain = str(sender["From"]).rpartition("@")[2].strip(">")
    return f"Authentication-Results: {AUTHSERV}; dmarc=pass header.from={domain}\r\n".encode() + raw


async def test_doctor_tries_the_account(world: World, mail: MailServer) -> None:
    ended = await world.run("doctor")
    assert USER in ended.output
    mail.password = "another"
    ended = await world.run("doctor")
    assert "app password" in ended.output + ended.errors
