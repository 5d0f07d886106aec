"""An IMAP server on loopback with one account, and an SMTP server that takes what it sends.

    async with MailServer() as mail:
        mail.deliver(letter(text="hello"))
        ...
        mail.sent   # what the account sent, as parsed mails

It keeps to RFC 3501 where a client could tell: UIDs and UIDVALIDITY, partial fetches, EXISTS to
whoever idles and unasked between commands, NO, BAD and BYE.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Any, Self

from aiosmtpd.smtp import SMTP, AuthResult

USER = "bot@example.org"
PASSWORD = "a long password"
AUTHSERV = "mx.example.org"
OWNER = "ann@example.com"

_FETCHED = re.compile(r"BODY\.PEEK\[(?P<what>[^\]]*)\]<(?P<start>\d+)\.(?P<count>\d+)>")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def letter(
    text: str = "hello",
    *,
    sender: str = OWNER,
    subject: str = "",
    message_id: str | None = None,
    checked: str | None = "pass",
    server: str = AUTHSERV,
    headers: str = "",
    body: bytes | None = None,
) -> bytes:
    """A mail as a provider delivers it. `checked`: what DMARC said of it; None: nobody checked."""
    letter.count += 1  # type: ignore[attr-defined]
    number = letter.count  # type: ignore[attr-defined]
    named = f"<{number}@mail.example.com>" if message_id is None else message_id
    domain = sender.rpartition("@")[2].strip(">")
    lines = [
        f"Authentication-Results: {server}; dmarc={checked} header.from={domain}" * bool(checked),
        f"From: {sender}",
        f"To: {USER}",
        f"Subject: {subject}" * bool(subject),
        f"Message-ID: {named}" * bool(named),
        f"Date: {time.strftime('%a, %d %b %Y %H:%M:%S +0000', time.gmtime())}",
        *headers.splitlines(),
    ]
    head = "\r\n".join(line for line in lines if line)
    if body is not None:
        return head.encode() + b"\r\n" + body
    plain = "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit"
    return f"{head}\r\n{plain}\r\n\r\n{text}\r\n".encode()


letter.count = 0  # type: ignore[attr-defined]


class Stored:
    """A mail in a folder."""

    def __init__(self, uid: int, raw: bytes, at: float) -> None:
        self.uid = uid
        self.raw = raw
        self.at = at
        self.flags: set[str] = set()

    @property
    def headers(self) -> Message:
        return message_from_bytes(self.raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")


class Folder:
    """A mailbox folder."""

    def __init__(self, validity: int = 1) -> None:
        self.validity = validity
        self.next_uid = 1
        self.mails: list[Stored] = []

    def add(self, raw: bytes, at: float | None = None) -> Stored:
        stored = Stored(self.next_uid, raw, time.time() if at is None else at)
        self.next_uid += 1
        self.mails.append(stored)
        return stored

    def renumber(self, first: int = 1) -> None:
        """Give the mails new UIDs, as a server does that was restored from a backup."""
        self.validity += 1
        for number, stored in enumerate(self.mails, first):
            stored.uid = number
        self.next_uid = first + len(self.mails)


class _Session:
    """One IMAP connection."""

    def __init__(
        self, server: MailServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.server = server
        self.reader = reader
        self.writer = writer
        self.folder: Folder | None = None
        self.announced = 0
        self.idle = ""

    def say(self, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        self.writer.write(data + b"\r\n")

    def tell_news(self) -> None:
        """Tell the client of new mails, unasked."""
        if self.folder is not None and self.announced != len(self.folder.mails):
            self.announced = len(self.folder.mails)
            self.say(f"* {self.announced} EXISTS")

    async def serve(self) -> None:
        if self.server.greeting:
            self.say(self.server.greeting)
            if not self.server.greeting.startswith("* OK"):
                return
        while line := await self.reader.readline():
            text = line.decode().rstrip("\r\n")
            if self.idle:
                self.say(f"{self.idle} {'OK done' if text == 'DONE' else 'BAD expected DONE'}")
                self.idle = ""
                continue
            tag, _, rest = text.partition(" ")
            name, _, arguments = rest.partition(" ")
            if name.upper() == "UID":
                name, _, arguments = arguments.partition(" ")
            self.server.commands.append(f"{name.upper()} {arguments}")
            if not await self._answer(tag, name.upper(), arguments):
                return
            await self.writer.drain()

    async def _answer(self, tag: str, name: str, arguments: str) -> bool:
        left = self.server.spared[name] = max(self.server.spared.get(name, 0) - 1, 0)
        fault = None if left else self.server.faults.pop(name, None)
        if fault == "drop":
            return False
        if fault is not None:
            self.say(f"{tag} {fault}")
            return True
        run = getattr(self, f"_do_{name.lower()}", None)
        if run is None:
            self.say(f"{tag} BAD unknown command")
            return True
        status = run(arguments)
        if name in {"SEARCH", "FETCH", "NOOP"}:
            self.server.before_news()
            self.tell_news()
        if name == "IDLE" and status is None:
            self.idle = tag
            self.say("+ idling")
            self.tell_news()
            return True
        self.say(f"{tag} {status or 'OK done'}")
        return name != "LOGOUT"

    def _do_capability(self, _: str) -> None:
        self.say(f"* CAPABILITY IMAP4rev1 {'IDLE' if self.server.has_idle else ''}".rstrip())

    def _do_login(self, arguments: str) -> str | None:
        user, password = re.findall(r'"((?:[^"\\]|\\.)*)"', arguments)
        if (user, password.replace('\\"', '"')) != (USER, self.server.password):
            return "NO [AUTHENTICATIONFAILED] Invalid credentials"
        return None

    def _do_logout(self, _: str) -> None:
        self.say("* BYE")

    def _do_noop(self, _: str) -> None:
        """Nothing: new mails are told after it."""

    def _do_select(self, arguments: str) -> str | None:
        folder = self.server.folders.get(arguments.strip('"'))
        if folder is None:
            return "NO [NONEXISTENT] no such folder"
        self.folder, self.announced = folder, len(folder.mails)
        self.say(f"* {self.announced} EXISTS")
        self.say(f"* OK [UIDVALIDITY {folder.validity}] UIDs valid")
        if self.server.says_next:
            self.say(f"* OK [UIDNEXT {folder.next_uid}] Predicted next UID")
        return "OK [READ-WRITE] done"

    _do_examine = _do_select

    def _mails(self) -> list[Stored]:
        assert self.folder is not None
        return self.folder.mails

    def _do_search(self, arguments: str) -> None:
        matching = [stored for stored in self._mails() if self._matches(stored, arguments)]
        self.say(" ".join(["* SEARCH", *(str(stored.uid) for stored in matching)]))

    def _matches(self, stored: Stored, criteria: str) -> bool:
        if match := re.fullmatch(r"UID (\d+):\*", criteria):
            last = max((mail.uid for mail in self._mails()), default=0)
            return stored.uid >= int(match[1]) or stored.uid == last
        if match := re.fullmatch(r'HEADER (Message-ID|References) "(.*)"', criteria):
            return match[2].lower() in str(stored.headers[match[1]] or "").lower()
        if match := re.fullmatch(r"SINCE (\d+)-(\w{3})-(\d{4})", criteria):
            day = time.gmtime(stored.at)
            earliest = (int(match[3]), _MONTHS.index(match[2]) + 1, int(match[1]))
            return (day.tm_year, day.tm_mon, day.tm_mday) >= earliest
        raise AssertionError(f"no search like {criteria}")

    def _do_fetch(self, arguments: str) -> None:
        uid, _, items = arguments.partition(" ")
        for number, stored in enumerate(self._mails(), 1):
            if stored.uid == int(uid):
                self._fetched(number, stored, items)

    def _fetched(self, number: int, stored: Stored, items: str) -> None:
        if "INTERNALDATE" in items:
            day = time.gmtime(stored.at)
            when = time.strftime(f"%d-{_MONTHS[day.tm_mon - 1]}-%Y %H:%M:%S +0000", day)
            self.say(f'* {number} FETCH (UID {stored.uid} INTERNALDATE "{when}")')
        elif match := _FETCHED.search(items):
            head = stored.raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
            whole = head if match["what"] == "HEADER" else stored.raw
            start = int(match["start"])
            piece = whole[start : start + int(match["count"])]
            self.server.largest = max(self.server.largest, len(piece))
            what = f"BODY[{match['what']}]<{start}>"
            if piece:
                line = f"* {number} FETCH (UID {stored.uid} {what} {{{len(piece)}}}\r\n"
                self.say(line.encode() + piece + b")")
            else:
                self.say(f'* {number} FETCH (UID {stored.uid} {what} "")')

    def _do_store(self, arguments: str) -> None:
        uid, _, flags = arguments.partition(" ")
        for stored in self._mails():
            if stored.uid == int(uid):
                stored.flags |= set(re.findall(r"\\\w+", flags))
        self.server.change()

    def _do_idle(self, _: str) -> str | None:
        return None if self.server.has_idle else "BAD unknown command"


class _Smtp(SMTP):
    """As a provider's: it can be told to fail."""

    server: MailServer

    async def smtp_MAIL(self, arg: str | None) -> None:  # noqa: N802 - aiosmtpd's name
        if not await self._fails("MAIL"):
            await super().smtp_MAIL(arg)

    async def smtp_RCPT(self, arg: str | None) -> None:  # noqa: N802 - aiosmtpd's name
        if not await self._fails("RCPT"):
            await super().smtp_RCPT(arg)

    async def smtp_DATA(self, arg: str | None) -> None:  # noqa: N802 - aiosmtpd's name
        if not await self._fails("DATA"):
            await super().smtp_DATA(arg)

    async def _fails(self, step: str) -> bool:
        fault = self.server.smtp_faults.pop(step, None)
        if fault is not None:
            self.server.change()
            if fault == "drop" and self.transport is not None:
                self.transport.close()
            else:
                await self.push(fault)
        return fault is not None


class MailServer:
    """One account. `faults`: how the next IMAP command of a name ends ("drop": by a cut), and
    `smtp_faults` the next MAIL, RCPT, DATA, or "." (which may be "drop after": taken, and then
    cut). `keeps_copies`: what is sent lies in the folder Sent. `tls`: mails are taken after
    STARTTLS only."""

    def __init__(self) -> None:
        self.folders = {"INBOX": Folder(), "Sent": Folder()}
        self.commands: list[str] = []
        self.faults: dict[str, str] = {}
        self.spared: dict[str, int] = {}
        """How many commands of a name come before its fault."""
        self.smtp_faults: dict[str, str] = {}
        self.password = PASSWORD
        self.tls: ssl.SSLContext | None = None
        self.greeting = "* OK ready"
        self.has_idle = True
        self.says_next = True
        self.keeps_copies = False
        self.largest = 0
        self.raw_sent: list[bytes] = []
        self.recipients: list[str] = []
        self.on_sent: Callable[[bytes], None] = lambda _raw: None
        self.before_news: Callable[[], None] = lambda: None
        self._sessions: set[_Session] = set()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._imap = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        loop = asyncio.get_running_loop()
        self._smtp = await loop.create_server(self._smtp_protocol, "127.0.0.1", 0)
        self._smtps: list[Any] = []
        return self

    async def __aexit__(self, *_: object) -> None:
        self._imap.close()
        self._smtp.close()
        self.cut()
        for session in self._smtps:
            if session.transport is not None:
                session.transport.abort()
            if session._handler_coroutine is not None:
                session._handler_coroutine.cancel()
                with suppress(asyncio.CancelledError):
                    await session._handler_coroutine
        while self._sessions:  # noqa: ASYNC110 - they end as soon as they notice
            await asyncio.sleep(0.001)

    def _smtp_protocol(self) -> SMTP:
        session = _Smtp(
            self,
            hostname="loopback",
            authenticator=lambda _server, _session, _envelope, _mechanism, credentials: AuthResult(
                success=(credentials.login, credentials.password)
                == (USER.encode(), self.password.encode()),
                handled=False,
            ),
            auth_require_tls=False,
            tls_context=self.tls,
            require_starttls=self.tls is not None,
            data_size_limit=50_000_000,
            loop=asyncio.get_running_loop(),
        )
        session.server = self
        self._smtps.append(session)
        return session

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, smtp: Any, session: Any, envelope: Any
    ) -> str:
        fault = self.smtp_faults.pop(".", None)
        if fault is None or fault == "drop after":
            self.recipients += envelope.rcpt_tos
            self.raw_sent.append(envelope.content)
            if self.keeps_copies:
                self.folders["Sent"].add(envelope.content)
            self.on_sent(envelope.content)
        self.change()
        if fault in {"drop", "drop after"}:
            smtp.transport.abort()
        return fault or "250 taken"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = _Session(self, reader, writer)
        self._sessions.add(session)
        self.change()
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await session.serve()
        finally:
            self._sessions.discard(session)
            writer.close()
            self.change()

    # The account

    @property
    def inbox(self) -> Folder:
        return self.folders["INBOX"]

    @property
    def imap_port(self) -> int:
        return int(self._imap.sockets[0].getsockname()[1])

    @property
    def smtp_port(self) -> int:
        return int(self._smtp.sockets[0].getsockname()[1])

    @property
    def settings(self) -> dict[str, object]:
        """The channel's settings for this server."""
        return {
            "imap_host": "127.0.0.1",
            "imap_port": self.imap_port,
            "smtp_host": "127.0.0.1",
            "smtp_port": self.smtp_port,
            "tls": False,
            "user": USER,
            "password": PASSWORD,
            "trusted_authserv": [AUTHSERV],
        }

    def deliver(self, raw: bytes, at: float | None = None) -> Stored:
        """A mail comes, and whoever idles is told."""
        stored = self.inbox.add(raw, at)
        for session in self._sessions:
            if session.idle:
                session.tell_news()
        return stored

    def cut(self) -> None:
        """Every IMAP connection breaks."""
        for session in tuple(self._sessions):
            session.writer.transport.abort()

    @property
    def idling(self) -> int:
        return sum(bool(session.idle) for session in self._sessions)

    @property
    def sent(self) -> list[Any]:
        """What the account has sent."""
        return [message_from_bytes(raw, policy=default) for raw in self.raw_sent]

    def change(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, holds: Callable[[], bool], timeout: float = 45.0) -> None:
        """Wait until something holds; it is asked again whenever something has happened here."""
        async with asyncio.timeout(timeout):
            while not holds():
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.02):
                        await self._changed.wait()
