"""The channel itself: a folder over IMAP for inbound, SMTP for outbound mails."""

from __future__ import annotations

import re
import ssl
import time
from functools import partial

from nanobot.errors import BadCredentials, ChannelDown, ChatGone, NotSent, Refused
from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import Capabilities, Checked, Intake, OutboundPart
from nanobot_channels.email import parts, smtp
from nanobot_channels.email.auth import servers
from nanobot_channels.email.headers import ambiguity, headers_of
from nanobot_channels.email.imap import PIECE, Mailbox
from nanobot_channels.email.mime import pieces
from nanobot_channels.email.parts import Envelope, attach, composed, payload_of, subject_of
from nanobot_channels.email.reading import MailThread, MessageIds, Reader
from nanobot_channels.email.receiving import MailThreads, Receiver, looked_up, place_of
from nanobot_channels.email.settings import ADDRESS, Server, Settings

IDLE_SECONDS = 240.0
"""Far below the 29 minutes of RFC 2177: routers drop a silent connection sooner."""
_REFERENCES = 20
_SAFE_ID = re.compile(r"[\x21-\x3b\x3d\x3f-\x7e]{1,900}")


class EmailChannel:
    """One mailbox as a channel."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        *,
        tls: ssl.SSLContext | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        address = (settings.address or settings.user).strip().lower()
        context = (tls or ssl.create_default_context()) if settings.tls else None
        # Only a provider that stores a copy can show whether a mail was accepted.
        self.capabilities = Capabilities(
            reconciles=bool(settings.sent_folder),
            heartbeat=1.25 * IDLE_SECONDS,
            discreet=True,
            threads=True,
            code_limit=0,
        )
        self._name = name
        self._settings = settings
        self._address = address
        self._idle_seconds = idle_seconds
        server = partial(
            Server,
            name=name,
            user=settings.user,
            password=settings.password,
            address=address,
            tls=context,
        )
        self._server = server(host=settings.imap_host, port=settings.imap_port)
        self._outbox = server(host=settings.smtp_host, port=settings.smtp_port)
        self._stamp = MessageIds(address, settings.password)
        self._correspondence = MailThreads()

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. A mail is marked as read after its commit.

        Raises BadCredentials, ChannelDown, and what the intake raises.
        """
        settings = self._settings
        reader = Reader(self._name, self._address, settings.trusted_authserv, self._stamp)
        await Receiver(
            self._server,
            settings.folder,
            reader,
            intake,
            self._correspondence,
            self._idle_seconds,
        ).run()

    async def check(self) -> Checked:
        """The address, after logging in to both servers, and whether the newest mails were checked
        by a trusted server. Raises BadCredentials or ChannelDown."""
        async with Mailbox.opened(self._server) as box:
            folder = await box.open(self._settings.folder, to_read=True)
            lacking = await self._vouching(box, folder.next_uid)
        async with smtp.connected(self._outbox):
            return Checked(self._address, lacking)

    async def _vouching(self, box: Mailbox, following: int) -> str:
        trusted = {server.lower() for server in self._settings.trusted_authserv}
        checkers: list[str] = []
        for uid in await box.search(f"{max(following - 5, 1)}:*", by_uid=True):
            raw = await box.piece(uid, 0, what="HEADER") or b""
            checkers += [] if ambiguity(raw) else servers(headers_of(raw))[:1]
        if not checkers or trusted & set(checkers):
            return ""
        return (
            f"Its newest mails were checked by {', '.join(sorted(set(checkers)))}, which is not in "
            f"channels.{self._name}.trusted_authserv, so no mail will be read: add it there"
        )

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The parts: one mail, and more only for texts beyond 200,000 characters."""
        return parts.render(message)

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one mail; returns its Message-ID, which a repeat of the part has too.

        Raises NotSent, Refused, ChatGone or OutcomeUnknown.
        """
        return await self._send(address, part, None, plain=plain)

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        """Send a file in a separate mail; see ports.Filing. Raises as `send`."""
        return await self._send(address, part, content, plain=True)

    async def _send(
        self, address: Address, part: OutboundPart, content: bytes | None, *, plain: bool
    ) -> str:
        recipient = address.chat_id
        if not ADDRESS.fullmatch(recipient):
            raise ChatGone(f"{recipient!r} is not an e-mail address")
        failing = self._correspondence.failing.get(recipient)
        if failing is not None:
            raise ChatGone(f"mails to {recipient} come back: {failing}")
        message_id = self._stamp.of(part.key, recipient)
        thread = await self._thread(address, part)
        envelope = Envelope(
            sender=self._address,
            recipient=recipient,
            subject=thread.subject,
            message_id=message_id,
            references=thread.references,
            unasked=payload_of(part).unasked,
            now=time.time(),
        )
        try:
            mail = composed(part, envelope, plain=plain)
            if content is not None:
                attach(mail, part, content)
            whole = parts.as_bytes(mail)
        except ValueError as error:
            raise Refused(f"this cannot be put into a mail: {error}") from error
        await smtp.hand_over(self._outbox, recipient, whole)
        return message_id

    async def _thread(self, address: Address, part: OutboundPart) -> MailThread:
        """Subject and references of an answer; a new conversation if there is no thread."""
        answered = payload_of(part).reply_to or address.thread_id
        if not answered:
            return MailThread(subject_of(part.text), ())
        thread = self._correspondence.get(answered)
        if thread is None and _SAFE_ID.fullmatch(answered):
            original, thread = await self._looked_up(answered)
            answered = answered if payload_of(part).reply_to else original
            self._correspondence.keep(answered, thread)
        thread = thread or MailThread("", ())
        ids = [*(reference for reference in thread.references if reference != answered), answered]
        if not thread.references and address.thread_id and address.thread_id != answered:
            ids.insert(0, address.thread_id)
        ids = [reference for reference in dict.fromkeys(ids) if _real(reference)]
        references = ids if len(ids) <= _REFERENCES else [ids[0], *ids[1 - _REFERENCES :]]
        subject = thread.subject or "your mail"
        if not re.match(r"re\s*:", subject, re.IGNORECASE):
            subject = f"Re: {subject}"
        return MailThread(subject, tuple(references))

    async def _looked_up(self, message_id: str) -> tuple[str, MailThread]:
        try:
            async with Mailbox.opened(self._server) as box:
                await box.open(self._settings.folder, to_read=True)
                return await looked_up(box, message_id) or (message_id, MailThread("", ()))
        except (BadCredentials, ChannelDown) as error:
            raise NotSent(f"the mail to answer cannot be looked up: {error}") from error

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The Message-ID of a part whose copy is in `sent_folder`; None if there is none.

        Raises NotSent if that cannot be looked up.
        """
        if not self._settings.sent_folder:
            return None
        message_id = self._stamp.of(part.key, address.chat_id)
        try:
            async with Mailbox.opened(self._server) as box:
                await box.open(self._settings.sent_folder, to_read=True)
                return message_id if await box.with_id(message_id) is not None else None
        except (BadCredentials, ChannelDown) as error:
            raise NotSent(f"{self._settings.sent_folder} cannot be searched: {error}") from error

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        try:
            validity, uid, start, end, encoding = place_of(attachment.ref)
        except ValueError:
            raise Refused("it does not say where it is") from None
        content, decode = bytearray(), pieces(encoding)
        try:
            async with Mailbox.opened(self._server) as box:
                folder = await box.open(self._settings.folder, to_read=True)
                if folder.validity != validity:
                    raise Refused("the server renumbered the mailbox; please send it again")
                while start < end:
                    data = await box.piece(uid, start, min(PIECE, end - start))
                    if not data:
                        raise Refused("its mail is not in the mailbox any more")
                    start += len(data)
                    content += decode(data, start >= end)
                    if len(content) > limit:
                        raise Refused(f"the file is larger than {limit} bytes")
        except BadCredentials as error:
            raise ChannelDown(str(error)) from error
        return bytes(content)

    async def typing(self, address: Address) -> None:
        """Does nothing: e-mail has no typing indicator."""

    async def close(self) -> None:
        """Does nothing: every call closes the connection that it opened."""


def _real(message_id: str) -> bool:
    """Whether it is a mail's own id, not one that we generated for a mail without one."""
    return bool(_SAFE_ID.fullmatch(message_id)) and not message_id.startswith("sha256-")
