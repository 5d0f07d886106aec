"""Matrix and e-mail beside the three platforms: what people do there, see, and what goes wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from email import message_from_bytes
from email.policy import default
from random import Random
from typing import Any

from tests.doubles.mail_server import AUTHSERV, PASSWORD, USER, MailServer, letter
from tests.doubles.matrix_rooms import ANN, ME
from tests.doubles.matrix_server import MatrixServer
from tests.process.platforms import Platform, Trouble

_RECENT = 16
_PAUSE_MS = 1_000
_SEND = "/send/m.room.message/"


class OnMatrix(Platform):
    name = "matrix"
    share = 0.4

    def __init__(self, server: MatrixServer, rng: Random, chats: int) -> None:
        rooms = [server.room(f"!room{number}:loopback", ANN) for number in range(chats)]
        super().__init__(rng, rooms)
        self._server = server
        limited = {"errcode": "M_LIMIT_EXCEEDED", "error": "x", "retry_after_ms": _PAUSE_MS}
        self.troubles = [
            self._spoil(_SEND, status=429, answer=limited),
            self._spoil(_SEND, status=502),
            self._spoil(_SEND, drop="before"),
            self._spoil(_SEND, drop="after"),
            self._spoil("/sync", status=500),
            self._spoil("/sync", drop="before"),
            self._spoil("/sync", drop="after"),
            self._spoil("/sync", body=b"{"),
        ]
        self.breaks = [self._trouble(act) for act in (self._sign_out, self._forget)]

    async def say(self, chat: str, text: str) -> None:
        """Its time is the world's: what is older than the last look is not read after a loss."""
        self._server.rooms.now = int(time.time() * 1000) - 1000
        self._server.say(chat, text)

    def shown(self, chat: str) -> list[str]:
        return self._server.texts(chat)

    def recent(self, chat: str) -> list[str]:
        """Edits say it again with a star."""
        latest = self._server.rooms.of(chat)[-_RECENT:]
        mine = [entry.event["content"] for entry in latest if entry.event["sender"] == ME]
        return [str(content.get("body", "")) for content in mine]

    async def until(self, holds: Callable[[], bool], timeout: float) -> None:
        await self._server.until(holds, timeout)

    async def connected(self) -> None:
        """What was said before the first look is not for the bot."""
        await self._server.until(lambda: self._server.since > 0)

    async def left(self) -> None:
        """Nothing to be seen of that."""

    def calm(self) -> None:
        self._server.heal()

    def table(self) -> str:
        return f"""
[channels.matrix]
homeserver = "{self._server.root_url}"
user = "{ME}"
password = "{self._server.password}"
owners = ["{ANN}"]
"""

    def _spoil(self, what: str, **fault: Any) -> Trouble:
        def fail() -> Callable[[], bool]:
            trouble = self._server.fail(what, **fault)
            return lambda: trouble.hits > 0

        return self._once(f"{what} {fault}", fail)

    async def _sign_out(self) -> None:
        """Whoever runs the server has ended every session: the bot has to sign in anew."""
        self._server.sessions.clear()

    async def _forget(self) -> None:
        """The server does not know any more what it has told."""
        self._server.forgotten = self._server.rooms.position


class OnMail(Platform):
    """Everybody writes in one thread of their own. The provider keeps copies of what is sent, so
    that answers can be looked up."""

    name = "email"
    share = 0.2

    def __init__(self, server: MailServer, rng: Random, chats: int) -> None:
        super().__init__(rng, [f"person{number}@example.com" for number in range(chats)])
        self._server = server
        server.keeps_copies = True
        self._spoken: set[str] = set()
        self._shown: dict[str, list[str]] = {chat: [] for chat in self.chats}
        self._read = 0
        self.troubles = [
            self._fail_imap("SEARCH", "drop"),
            self._fail_imap("SEARCH", "NO try later"),
            self._fail_imap("FETCH", "drop"),
            self._fail_imap("FETCH", "NO try later"),
            self._fail_imap("STORE", "drop"),
            self._fail_smtp("MAIL", "421 4.3.2 shutting down"),
            self._fail_smtp("RCPT", "451 4.7.1 greylisted"),
            self._fail_smtp("DATA", "drop"),
            self._fail_smtp(".", "452 4.3.1 no room"),
            self._fail_smtp(".", "drop"),
            self._fail_smtp(".", "drop after"),
        ]
        self.breaks = [self._trouble(act) for act in (self._cut, self._renumber)]

    async def say(self, chat: str, text: str) -> None:
        root = f"<root.{chat}>"
        if chat in self._spoken:
            self._server.deliver(letter(text, sender=chat, headers=f"References: {root}"))
        else:
            self._server.deliver(letter(text, sender=chat, message_id=root))
        self._spoken.add(chat)

    def shown(self, chat: str) -> list[str]:
        for raw in self._server.raw_sent[self._read :]:
            mail = message_from_bytes(raw, policy=default)
            body = mail.get_body(("plain",))
            self._shown[mail["To"]].append("" if body is None else body.get_content().strip())
        self._read = len(self._server.raw_sent)
        return self._shown[chat]

    def recent(self, chat: str) -> list[str]:
        return self.shown(chat)[-_RECENT:]

    async def until(self, holds: Callable[[], bool], timeout: float) -> None:
        await self._server.until(holds, timeout)

    async def connected(self) -> None:
        """What came before the first look ever is not for the bot."""
        if not self._spoken:
            await self._server.until(lambda: self._server.idling > 0, 20)

    async def left(self) -> None:
        await self._server.until(lambda: not self._server.idling)

    def calm(self) -> None:
        self._server.faults.clear()
        self._server.smtp_faults.clear()

    def table(self) -> str:
        return f"""
[channels.email]
imap_host = "127.0.0.1"
imap_port = {self._server.imap_port}
smtp_host = "127.0.0.1"
smtp_port = {self._server.smtp_port}
tls = false
user = "{USER}"
password = "{PASSWORD}"
trusted_authserv = ["{AUTHSERV}"]
sent_folder = "Sent"
owners = {self.chats}
"""

    def _fail_imap(self, command: str, how: str) -> Trouble:
        return self._fail(self._server.faults, command, how)

    def _fail_smtp(self, step: str, how: str) -> Trouble:
        return self._fail(self._server.smtp_faults, step, how)

    def _fail(self, faults: dict[str, str], what: str, how: str) -> Trouble:
        def fail() -> Callable[[], bool]:
            faults[what] = how
            return lambda: what not in faults

        return self._once(f"{what} {how}", fail)

    async def _cut(self) -> None:
        self._server.cut()

    async def _renumber(self) -> None:
        """The server was restored from a backup: every mail has another number."""
        self._server.inbox.renumber(self.rng.randrange(1, 1_000))
        self._server.cut()
