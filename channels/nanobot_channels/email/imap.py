"""A mailbox over IMAP: aioimaplib's client, with the parts that it leaves to the caller.

It uses only commands whose responses contain a sender's text in literals only: a parenthesis in a
file's name would make the client wait for its counterpart.
"""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from imaplib import Internaldate2tuple
from typing import Any, TypeVar

import msgspec
from aioimaplib import IMAP4, AioImapException, IMAP4ClientProtocol  # type: ignore[import-untyped]

from nanobot.errors import BadCredentials, ChannelDown
from nanobot_channels.email.settings import Server

PIECE = 256 * 1024
"""Bytes of a mail that are requested at once."""
_COMMAND_SECONDS = 60.0
_CONNECT_SECONDS = 30.0
_PASSING = re.compile(
    r"\[(UNAVAILABLE|INUSE|LIMIT|SERVERBUG)\]|too many|temporar|try again", re.IGNORECASE
)
_WITHOUT_IDLE_SECONDS = 60.0
_UID = re.compile(rb"\bUID (\d+)")

T = TypeVar("T")


class Folder(msgspec.Struct, frozen=True):
    """A folder when it was opened. `validity`: UIDs are valid as long as this number stays the
    same.
    """

    validity: int
    next_uid: int


class _Protocol(IMAP4ClientProtocol):  # type: ignore[misc]
    """The client drops unsolicited responses between two commands; the news of new mail must not
    get lost.
    """

    news = False
    greeting = b""

    async def welcome(self, command: bytes) -> None:
        """An exception raised here would be lost, so an unexpected greeting breaks the
        connection.
        """
        self.greeting = command
        if b"OK" in command or b"PREAUTH" in command:
            await super().welcome(command)
        else:
            self.transport.abort()

    def _untagged_response(self, line: bytes) -> Any:
        if line.endswith((b" EXISTS", b" RECENT")):
            self.news = True
        return super()._untagged_response(line)


class _Client(IMAP4):  # type: ignore[misc]
    def create_client(
        self,
        host: str,
        port: int,
        loop: asyncio.AbstractEventLoop | None,
        conn_lost_cb: Callable[[Exception | None], None] | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        running = loop or asyncio.get_running_loop()
        self.protocol = _Protocol(running, conn_lost_cb)
        connecting = running.create_connection(lambda: self.protocol, host, port, ssl=ssl_context)
        self._client_task = running.create_task(connecting)

    async def dispose(self) -> None:
        """Cancel all tasks and timers, whatever is in progress."""
        if self._idle_waiter is not None:
            self._idle_waiter.cancel()
        tasks = {self._client_task, *self.tasks, *self.protocol.tasks}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()  # the waiting caller has been given the error
        if self.protocol.transport is not None:
            self.protocol.transport.abort()


class Mailbox:
    """One connection, logged in. Every method raises ChannelDown if it fails for now."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lost = False
        self._scope: asyncio.Timeout | None = None
        self._client = _Client(
            server.host,
            server.port,
            timeout=_COMMAND_SECONDS,
            conn_lost_cb=self._on_lost,
            ssl_context=server.tls,
        )

    @classmethod
    @asynccontextmanager
    async def opened(cls, server: Server) -> AsyncIterator[Mailbox]:
        """A mailbox, logged in. Raises BadCredentials or ChannelDown."""
        box = cls(server)
        try:
            await box._log_in()
            yield box
        finally:
            await box._client.dispose()

    async def _log_in(self) -> None:
        server, client = self._server, self._client
        where = f"{server.host}:{server.port}"
        try:
            await self._within(client.wait_hello_from_server, _CONNECT_SECONDS)
        except ssl.SSLCertVerificationError as error:
            raise ChannelDown(
                f"the certificate of {where} is not to be trusted: {error.verify_message}. Check "
                f"channels.{server.name}.imap_host; for a private certificate authority, set "
                f"SSL_CERT_FILE"
            ) from error
        except ssl.SSLError as error:
            raise ChannelDown(
                f"no TLS with {where} ({error.reason}): channels.{server.name}.imap_port must be "
                "one that speaks TLS from the first byte, usually 993"
            ) from error
        except OSError as error:
            raise ChannelDown(f"no connection to {where}: {error}") from error
        user = _quoted(server.user)
        answer = await self._within(lambda: client.login(user, server.password))
        if answer.result != "OK":
            raise self._refused(_status_text(answer))
        await self._within(client.protocol.capability)

    def _refused(self, reason: str) -> Exception:
        name = self._server.name
        if _PASSING.search(reason):
            return ChannelDown(f"{self._server.host} accepts no login now: {reason}")
        return BadCredentials(
            f"{self._server.host} refuses the login of {self._server.user}: {reason}. Check "
            f"channels.{name}.user and channels.{name}.password; many providers want an app "
            "password, made in the settings of the account, instead of the usual one"
        )

    async def open(self, folder: str, *, to_read: bool = False) -> Folder:
        """Open a folder; `to_read`: read-only."""
        client, quoted = self._client, _quoted(utf7(folder))
        opening = client.examine if to_read else client.select
        answer = await self._within(lambda: opening(quoted))
        status = b" ".join(line for line in answer.lines if isinstance(line, bytes))
        if answer.result != "OK":
            raise ChannelDown(f"the folder {folder} cannot be opened: {_status_text(answer)}")
        if to_read:
            client.protocol.state = "SELECTED"  # the client supports it for SELECT only
        validity = re.search(rb"\[UIDVALIDITY (\d+)\]", status)
        following = re.search(rb"\[UIDNEXT (\d+)\]", status)
        client.protocol.news = False
        if validity is None:
            raise ChannelDown(f"the folder {folder} has no UIDVALIDITY: no mail can be told apart")
        highest = 0 if following else max(await self.search("1:*", by_uid=True), default=0)
        return Folder(int(validity[1]), int(following[1]) if following else highest + 1)

    async def search(self, *criteria: str, by_uid: bool = False) -> list[int]:
        """The UIDs that match, in ascending order; `by_uid`: the criterion is a set of UIDs."""
        terms = ("UID", *criteria) if by_uid else criteria
        self._client.protocol.news = False
        answer = await self._within(lambda: self._client.uid_search(*terms, charset=None))
        self._expect(answer, "SEARCH")
        joined = b" ".join(word for word in answer.lines[:-1] if isinstance(word, bytes))
        return sorted({int(word) for word in joined.split() if word.isdigit()})

    async def with_id(self, message_id: str, header: str = "Message-ID") -> int | None:
        """The UID of the last mail with this Message-ID in that header."""
        uids = await self.search("HEADER", header, _quoted(f"<{message_id}>"))
        return uids[-1] if uids else None

    async def arrived(self, uid: int) -> float | None:
        """When a mail came to this folder, in unix seconds; None if it no longer exists."""
        answer = await self._fetch(uid, "(UID INTERNALDATE)")
        for line in answer.lines[:-1]:
            text = bytes(line)
            when = Internaldate2tuple(text)
            match = _UID.search(text)
            if when is not None and match is not None and int(match[1]) == uid:
                return time.mktime(when)
        return None

    async def piece(self, uid: int, start: int, count: int = PIECE, what: str = "") -> bytes | None:
        """Bytes of a mail, fewer than requested at its end; None if it no longer exists."""
        answer = await self._fetch(uid, f"(UID BODY.PEEK[{what}]<{start}.{count}>)")
        for number, line in enumerate(answer.lines[:-1]):
            if isinstance(line, bytes) and b" FETCH (" in line and b"BODY[" in line:
                following = answer.lines[number + 1]
                return bytes(following) if isinstance(following, bytearray) else b""
        return None

    async def mark_read(self, uid: int) -> None:
        """Mark a mail as read."""
        flag = r"+FLAGS.SILENT (\Seen)"
        await self._within(lambda: self._client.uid("store", str(uid), flag))

    async def news(self, seconds: float) -> None:
        """Wait until there may be new mail, at most `seconds`."""
        protocol = self._client.protocol
        if protocol.news:
            return
        if not self._client.has_capability("IDLE"):
            await self._within(
                lambda: asyncio.sleep(min(seconds, _WITHOUT_IDLE_SECONDS)), 2 * seconds
            )
            await self._within(self._client.noop)
            return
        idle = await self._within(lambda: self._client.idle_start(2 * seconds))
        await self._within(lambda: self._pushed(seconds), 2 * seconds)
        self._client.idle_done()
        await self._within(lambda: idle)

    async def _pushed(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not self._client.protocol.news:
                    await self._client.protocol.idle_queue.get()
        except TimeoutError:
            return

    async def _fetch(self, uid: int, what: str) -> Any:
        answer = await self._within(lambda: self._client.uid("fetch", str(uid), what))
        self._expect(answer, "FETCH")
        return answer

    def _expect(self, answer: Any, command: str) -> None:
        if answer.result != "OK":
            raise ChannelDown(f"{self._server.host} refuses {command}: {_status_text(answer)}")

    def _on_lost(self, _error: Exception | None) -> None:
        """Ends the current wait: the library would continue to wait for a response that cannot
        come.
        """
        self._lost = True
        if self._scope is not None:
            self._scope.reschedule(asyncio.get_running_loop().time())

    def _silent(self, seconds: float) -> ChannelDown:
        how = "has closed the connection" if self._lost else f"said nothing for {seconds:.0f} s"
        greeting = bytes(self._client.protocol.greeting).decode("utf-8", "replace")
        bye = f" ({greeting[:200]})" if greeting.startswith("* BYE") else ""
        return ChannelDown(f"{self._server.host} {how}{bye}")

    async def _within(
        self, work: Callable[[], Awaitable[T]], seconds: float = _COMMAND_SECONDS
    ) -> T:
        host = self._server.host
        if self._lost:
            raise self._silent(0.0)
        try:
            async with asyncio.timeout(seconds) as self._scope:
                return await work()
        except TimeoutError as error:
            raise self._silent(seconds) from error
        except AioImapException as error:
            raise ChannelDown(f"{host} does not keep to IMAP: {error!r}") from error
        finally:
            self._scope = None


def _status_text(answer: Any) -> str:
    last = answer.lines[-1] if answer.lines else b""
    return " ".join(bytes(last).decode("utf-8", "replace").split())[:300]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_OTHERS = re.compile(r"[^ -~]+")


def utf7(name: str) -> str:
    """A folder's name for IMAP4rev1 (RFC 3501, 5.1.3): non-ASCII in modified UTF-7."""

    def coded(match: re.Match[str]) -> str:
        raw = base64.b64encode(match[0].encode("utf-16-be", "surrogatepass")).decode()
        return f"&{raw.rstrip('=').replace('/', ',')}-"

    return _OTHERS.sub(coded, name.replace("&", "&-"))
