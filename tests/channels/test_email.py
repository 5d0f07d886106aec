"""The e-mail channel against a mail server on loopback: what comes in."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec
import pytest

from nanobot.errors import BadCredentials, ChannelDown, ConfigError, Refused, StoreUnwritable
from nanobot.messages import Address
from nanobot.ports import Checked
from nanobot_channels import email
from nanobot_channels.email.channel import EmailChannel
from nanobot_channels.email.imap import PIECE, utf7
from nanobot_channels.email.settings import settings_of
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.mail_server import OWNER, MailServer, letter

Running = Callable[[FakeIntake], AbstractAsyncContextManager[asyncio.Task[None]]]


def channel_of(mail: MailServer, **more: object) -> EmailChannel:
    settings = settings_of("email", mail.settings | more)
    return EmailChannel("email", settings, idle_seconds=0.3)


@pytest.fixture
def running(mail: MailServer) -> Running:
    """A context in which a channel receives."""

    @asynccontextmanager
    async def receive(intake: FakeIntake) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(channel_of(mail).run(intake))
        try:
            before = intake.signs_of_life
            up = asyncio.create_task(intake.until(lambda: intake.signs_of_life > before))
            await asyncio.wait([task, up], return_when=asyncio.FIRST_COMPLETED)
            up.cancel()
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])

    return receive


async def received(mail: MailServer, running: Running, raw: bytes) -> FakeIntake:
    """What came of one mail."""
    intake = FakeIntake()
    async with running(intake):
        mail.deliver(raw)
        mail.deliver(letter("the end"))
        await intake.until(lambda: any(message.text == "the end" for message in intake.messages))
    return intake


async def test_a_mail_is_a_message(mail: MailServer, running: Running) -> None:
    raw = letter("hello", sender="Ann <ann@example.com>", subject="Hi", message_id="<a@b>")
    message = (await received(mail, running, raw)).messages[0]
    assert message.address == Address("email", OWNER, "a@b")
    assert (message.text, message.dedupe_key) == ("Subject: Hi\n\nhello", "a@b")
    assert (message.sender.id, message.sender.name) == (OWNER, "Ann")
    assert message.tainted
    assert abs(message.sent_at - time.time()) < 100


async def test_a_thread_is_known_by_its_root(mail: MailServer, running: Running) -> None:
    headers = "References: <root@x> <mid@x>\nIn-Reply-To: <mid@x>"
    raw = letter("and?", subject="Re: Hi", headers=headers)
    message = (await received(mail, running, raw)).messages[0]
    assert (message.address.thread_id, message.reply_to) == ("root@x", "mid@x")
    assert message.text == "and?"


async def test_a_mail_without_an_id_is_known_by_its_bytes(
    mail: MailServer, running: Running
) -> None:
    raw = letter("hello", message_id="")
    keys = {(await received(mail, running, raw)).messages[0].dedupe_key for _ in range(2)}
    assert len(keys) == 1
    assert keys.pop().startswith("sha256-")


@pytest.mark.parametrize(
    "raw",
    [
        letter("forged", checked=None),
        letter("forged", checked="fail"),
        letter("forged", server="evil.net"),
        letter("forged", sender="ann@example.com, bob@example.net"),
        letter("away", headers="Auto-Submitted: auto-replied"),
        letter("news", headers="List-Id: <news.example.com>"),
        letter("news", headers="Precedence: bulk"),
        letter("ticket", headers="X-Auto-Response-Suppress: All"),
        letter("ticket", headers="X-Auto-Response-Suppress: DR, OOF,AutoReply"),
        letter("back", sender="MAILER-DAEMON@example.com"),
        letter("me", sender="bot@example.org"),
        letter("back", headers="Return-Path: <>"),
    ],
)
async def test_forged_and_automatic_mail_is_not_read(
    mail: MailServer, running: Running, raw: bytes
) -> None:
    intake = await received(mail, running, raw)
    assert [message.text for message in intake.messages] == ["the end"]
    assert not mail.inbox.mails[0].flags


async def test_a_decision_is_one_line(mail: MailServer, running: Running) -> None:
    text = "/approve 12\n\nAnn\nExample Ltd\n\n> Answer this mail with one line:"
    message = (await received(mail, running, letter(text, subject="Re: x"))).messages[0]
    assert message.text == "/approve 12"


async def test_a_foreign_history_goes_along_as_a_quote(mail: MailServer, running: Running) -> None:
    text = "What is this?\n\nOn 5 Jan 2026, Bob wrote:\n> Pay 42 EUR"
    message = (await received(mail, running, letter(text))).messages[0]
    assert message.text == "What is this?"
    assert "Pay 42 EUR" in message.quote


async def test_what_lay_there_at_the_first_start_is_not_read(
    mail: MailServer, running: Running
) -> None:
    mail.deliver(letter("old"))
    intake = FakeIntake()
    async with running(intake):
        mail.deliver(letter("new"))
        await intake.received(1)
    assert [message.text for message in intake.messages] == ["new"]


@pytest.mark.parametrize("has_idle", [True, False])
@pytest.mark.parametrize("says_next", [True, False])
async def test_what_came_meanwhile_is_found_and_nothing_twice(
    mail: MailServer, running: Running, has_idle: bool, says_next: bool
) -> None:
    mail.has_idle, mail.says_next = has_idle, says_next
    mail.deliver(letter("old"))
    intake = FakeIntake()
    async with running(intake):
        mail.deliver(letter("one"))
        await intake.received(1)
    mail.deliver(letter("two"))
    mail.deliver(letter("three"))
    async with running(intake):
        await intake.received(3)
        mail.deliver(letter("four"))
        await intake.received(4)
    assert [message.text for message in intake.messages] == ["one", "two", "three", "four"]


async def test_news_told_between_two_commands_is_heard(mail: MailServer, running: Running) -> None:
    """A mail comes while the server answers a search: it says so there, and never again."""
    intake = FakeIntake()
    late = [letter("late")]

    def arrive() -> None:
        if late and mail.commands[-1].startswith("SEARCH"):
            mail.inbox.add(late.pop())

    mail.before_news = arrive
    async with running(intake):
        await intake.received(1)
        assert not any(command.startswith("IDLE") for command in mail.commands[:-2])


async def test_a_mail_that_was_not_taken_comes_again(mail: MailServer, running: Running) -> None:
    intake = FakeIntake()
    async with running(intake) as task:
        intake.failures = [StoreUnwritable("the disk is full")]
        mail.deliver(letter("hello"))
        await asyncio.wait([task])
    assert isinstance(task.exception(), StoreUnwritable)
    assert not mail.inbox.mails[0].flags
    async with running(intake):
        await intake.received(1)
        await mail.until(lambda: r"\Seen" in mail.inbox.mails[0].flags)


@pytest.mark.parametrize("days_ahead", [0, 40])
async def test_a_folder_that_was_numbered_anew_loses_and_doubles_nothing(
    mail: MailServer, running: Running, days_ahead: int
) -> None:
    """Also where the machine's clock is ahead of the server's."""
    now = time.time() - days_ahead * 86_400
    mail.deliver(letter("very old"), now - 9 * 86_400)
    mail.deliver(letter("before the first start"), now - 300)
    intake = FakeIntake()
    async with running(intake):
        mail.deliver(letter("one"), now + 1)
        await intake.received(1)
    mail.inbox.renumber(first=50)
    mail.deliver(letter("two"), now + 2)
    async with running(intake):
        await intake.until(lambda: any(message.text == "two" for message in intake.messages))
    texts = [message.text for message in intake.messages]
    assert set(texts) == {"one", "two"}
    keys = [message.dedupe_key for message in intake.messages if message.text == "one"]
    assert len(set(keys)) == 1  # the journal knows it by this
    assert intake.stored is not None
    assert intake.stored.startswith("2:")


async def test_mails_that_are_ignored_are_passed_for_good_and_are_signs_of_life(
    mail: MailServer, running: Running, intake: FakeIntake
) -> None:
    async with running(intake):
        """The place to go on from is kept."""
    before = intake.signs_of_life
    for number in range(120):
        mail.deliver(letter(f"news {number}", headers="List-Id: <news.example.org>"))
    mail.faults["FETCH"], mail.spared["FETCH"] = "drop", 2 * 110
    async with running(intake) as task:
        await asyncio.wait([task], timeout=10)
    assert intake.stored is not None
    assert int(intake.stored.split(":")[1]) >= 100
    assert intake.signs_of_life - before > 100
    mail.deliver(letter("a person"))
    async with running(intake):
        assert (await intake.received(1))[0].text == "a person"


@pytest.mark.parametrize("command", ["LOGIN", "SELECT", "SEARCH", "FETCH", "IDLE", "STORE"])
async def test_a_cut_or_refused_command_ends_the_run_and_loses_nothing(
    mail: MailServer, running: Running, command: str, intake: FakeIntake
) -> None:
    async with running(intake):
        """The place to go on from is kept."""
    for fault in ("drop", "NO [UNAVAILABLE] not now", "BAD what"):
        mail.deliver(letter(f"{command} {fault}"))
        mail.faults[command] = fault
        async with running(intake) as task:
            if command == "STORE" and fault != "drop":
                continue  # only the mark is missing
            await asyncio.wait([task], timeout=10)
            assert isinstance(task.exception(), ChannelDown | BadCredentials)
    async with running(intake):
        await intake.until(lambda: len({message.text for message in intake.messages}) == 3)
    assert len(intake.messages) == 3


async def test_a_broken_connection_is_noticed_at_once(mail: MailServer, running: Running) -> None:
    intake = FakeIntake()
    async with running(intake) as task:
        await mail.until(lambda: mail.idling == 1)
        mail.cut()
        await asyncio.wait([task], timeout=10)
        assert isinstance(task.exception(), ChannelDown)


async def test_a_busy_server_is_tried_again_later(mail: MailServer, running: Running) -> None:
    mail.greeting = "* BYE too many connections"
    async with running(FakeIntake()) as task:
        assert isinstance(task.exception(), ChannelDown)
        assert "too many connections" in str(task.exception())


async def test_a_wrong_password_says_what_to_do(mail: MailServer) -> None:
    mail.password = "another"
    with pytest.raises(BadCredentials, match=r"channels\.email\.password.*app password"):
        await channel_of(mail).check()


async def test_check_names_the_address_and_an_untrusted_server(mail: MailServer) -> None:
    channel = channel_of(mail)
    assert await channel.check() == Checked("bot@example.org")
    mail.deliver(letter(server="mx.other.net"))
    result = await channel.check()
    assert result.who == "bot@example.org"
    assert "mx.other.net" in result.lacking
    assert "channels.email.trusted_authserv" in result.lacking
    assert not mail.inbox.mails[0].flags


@pytest.mark.parametrize(
    ("port", "more"),
    [("imap_port", {}), ("smtp_port", {})],
)
async def test_a_closed_port_and_one_without_tls_are_named(
    mail: MailServer, port: str, more: dict[str, object]
) -> None:
    settings = settings_of("email", mail.settings | {port: 1} | more)
    with pytest.raises(ChannelDown, match=r"127\.0\.0\.1:1"):
        await EmailChannel("email", settings).check()
    settings = msgspec.structs.replace(settings_of("email", mail.settings), tls=True)
    with pytest.raises(ChannelDown, match="993"):
        await EmailChannel("email", settings).check()


async def test_files_are_fetched_in_pieces(mail: MailServer, running: Running) -> None:
    content = bytes(range(256)) * 4_000
    body = (
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nsee\r\n--x\r\n"
        b'Content-Type: image/png; name="a.png"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
        + base64.encodebytes(content).replace(b"\n", b"\r\n")
        + b"--x--\r\n"
    )
    (file,) = (await received(mail, running, letter(body=body))).messages[0].attachments
    channel = channel_of(mail)
    assert await channel.fetch(file, 2_000_000) == content
    assert mail.largest <= PIECE
    with pytest.raises(Refused, match="larger"):
        await channel.fetch(file, 500_000)
    mail.faults["FETCH"] = "drop"
    with pytest.raises(ChannelDown):
        await channel.fetch(file, 2_000_000)
    mail.inbox.mails.clear()
    with pytest.raises(Refused, match="not in the mailbox"):
        await channel.fetch(file, 2_000_000)
    mail.inbox.renumber()
    with pytest.raises(Refused, match="renumbered"):
        await channel.fetch(file, 2_000_000)
    with pytest.raises(Refused):
        await channel.fetch(msgspec.structs.replace(file, ref="what"), 10)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"password": ""}, "password is empty"),
        ({"imap_host": None}, "imap_host"),
        ({"trusted_authserv": []}, "trusted_authserv is empty"),
        ({"trusted_authserv": [" "]}, "trusted_authserv is empty"),
        ({"user": "bot"}, "not an e-mail address"),
        ({"imap_port": 0}, "imap_port"),
        ({"imap_host": "mail.example.org", "tls": False}, "in the clear"),
        ({"user": "a@b\r\nLOGOUT"}, "line ends"),
        ({"adress": "x"}, "adress"),
    ],
)
def test_settings_that_cannot_work_are_refused(change: dict[str, object], why: str) -> None:
    settings: dict[str, object] = {
        "imap_host": "localhost",
        "smtp_host": "localhost",
        "user": "bot@example.org",
        "password": "p",
        "trusted_authserv": ["mx.example.org"],
    }
    with pytest.raises(ConfigError, match=why):
        email.open_channel("email", settings | change)


async def test_servers_that_are_trusted_may_be_one_text_with_commas(mail: MailServer) -> None:
    table = mail.settings | {"trusted_authserv": "mx.example.org, mx2.example.org"}
    assert settings_of("email", table).trusted_authserv == ["mx.example.org", "mx2.example.org"]
    with pytest.raises(ConfigError, match="trusted_authserv is empty"):
        settings_of("email", table | {"trusted_authserv": " , "})


async def test_who_may_speak_is_no_setting_of_its_own(mail: MailServer) -> None:
    people = {"owners": ["a@b.c"], "members": [], "guests": [], "pairing": True}
    assert settings_of("email", mail.settings | people) == settings_of("email", mail.settings)


def test_nothing_secret_is_shown() -> None:
    settings = settings_of(
        "email",
        {
            "imap_host": "h",
            "smtp_host": "h",
            "user": "a@b",
            "password": "geheim",
            "trusted_authserv": ["x"],
        },
    )
    assert "geheim" not in f"{settings!r}"


@pytest.mark.parametrize(
    ("name", "coded"),
    [
        ("INBOX", "INBOX"),
        ("Entw\u00fcrfe", "Entw&APw-rfe"),
        ("Q&A", "Q&-A"),
        ("~peter/mail/\u53f0\u5317/\u65e5\u672c\u8a9e", "~peter/mail/&U,BTFw-/&ZeVnLIqe-"),
        ("\U0001f4e7", "&2D3c5w-"),
    ],
)
def test_folders_are_named_as_imap_has_it(name: str, coded: str) -> None:
    assert utf7(name) == coded


async def test_a_folder_with_a_name_outside_ascii_is_opened(mail: MailServer) -> None:
    mail.folders["Entw&APw-rfe &- mehr"] = mail.folders["INBOX"]
    settings = settings_of("email", mail.settings | {"folder": "Entw\u00fcrfe & mehr"})
    assert await EmailChannel("email", settings).check() == Checked("bot@example.org")
