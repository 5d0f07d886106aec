"""Converts mails to inbound messages, or gives the reason why a mail is ignored."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection
from email.message import Message
from email.utils import parsedate_to_datetime

import msgspec

from nanobot.messages import Address, Attachment, InboundMessage, Sender
from nanobot_channels.common.text import file_name, label
from nanobot_channels.email.auth import authenticated, author
from nanobot_channels.email.headers import ODD, all_headers, header, headers_of, raw_headers
from nanobot_channels.email.mime import MAX_PARTS, MAX_TEXT_BYTES, Mail, Part, texts
from nanobot_channels.email.text import mail_text, paragraphs, plain

_ID = re.compile(r"<([^<>\s]{1,900})>")
_THREAD = re.compile(r"[\x21-\x7e]{1,240}")
_FORWARDED = re.compile(r"^\s*(fwd?|wg|tr|rv|enc|i|vs|doorst)\s*:", re.IGNORECASE)
_ANSWER = re.compile(r"^\s*((re|aw|sv|antw|r|ref|res|odp)\s*(\[\d+\])?\s*:\s*)+", re.IGNORECASE)
_DECISION = re.compile(r"/(approve|deny)\b[^\n]*", re.IGNORECASE)
_ROBOTS = frozenset({"mailer-daemon", "postmaster", "no-reply", "noreply", "donotreply"})
_OF_PROGRAMS = ("List-Id", "List-Unsubscribe", "List-Post", "X-Autoreply", "X-Autorespond")
# [MS-OXCMAIL] 2.2.3.2.14: "All", or which kinds of answers; the others are receipts.
_SUPPRESSES = frozenset({"all", "oof", "autoreply"})
_SEALS = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_OUR_ID = re.compile(r"nb-([0-9a-f]{24})\.([0-9a-f]{16})@[^<>\s]+")
_MAX_HISTORY = 20_000


class MessageIds:
    """Our own Message-IDs: the same for the same part to the same person, and recognisable."""

    def __init__(self, address: str, password: str) -> None:
        self._domain = address.rpartition("@")[2]
        self._key = hashlib.sha256(b"nanobot message id\0" + password.encode()).digest()

    def of(self, key: str, recipient: str) -> str:
        """The Message-ID of a part, without its angle brackets."""
        name = hashlib.sha256(key.encode()).hexdigest()[:24]
        return f"nb-{name}.{self._seal(name, recipient)}@{self._domain}"

    def sent(self, message_id: str, recipient: str) -> bool:
        """Whether we sent a mail with this id to this person: no one else can forge one."""
        match = _OUR_ID.fullmatch(message_id)
        return match is not None and hmac.compare_digest(self._seal(match[1], recipient), match[2])

    def _seal(self, name: str, recipient: str) -> str:
        sealed = f"{name}\0{recipient}".encode()
        return hmac.new(self._key, sealed, hashlib.sha256).hexdigest()[:16]


class MailThread(msgspec.Struct, frozen=True):
    """The data that an answer takes from a mail. Ids are without angle brackets."""

    subject: str
    references: tuple[str, ...]


class Ignored(msgspec.Struct, frozen=True):
    """A mail that does not become a message. `warn`: the owner may want to know."""

    why: str
    warn: bool = False


class Bounce(msgspec.Struct, frozen=True):
    """One of our mails did not arrive. `final`: it never will."""

    recipient: str
    why: str
    final: bool


class ReadMail(msgspec.Struct, frozen=True):
    """A message, and the data for an answer to it."""

    message: InboundMessage
    thread: MailThread


class Reader:
    """Reads the mails of one channel. `trusted`: the servers whose Authentication-Results count."""

    def __init__(
        self, name: str, address: str, trusted: Collection[str], stamp: MessageIds
    ) -> None:
        self._name = name
        self._address = address
        self._trusted = trusted
        self._stamp = stamp

    def read(self, mail: Mail, place: str, arrived: float) -> ReadMail | Bounce | Ignored:
        """The result for a mail; `place` (UIDVALIDITY and UID) is where its files are fetched
        from."""
        headers = mail.headers
        if mail.ambiguous:
            return Ignored(f"programs may disagree about who sent it: {mail.ambiguous}", warn=True)
        bounce = self._bounce(mail)
        if bounce is not None:
            return bounce
        sender = author(headers)
        if sender is None:
            return Ignored("its From names no one, several people, or is ambiguous", warn=True)
        robot = _automatic(headers, sender.address, self._address)
        if robot:
            return Ignored(f"from {sender.address}: {robot}")
        doubt = authenticated(headers, sender, self._trusted)
        if doubt:
            return Ignored(f"it says that it is from {sender.address}, but {doubt}", warn=True)
        message_id = message_id_of(headers) or f"sha256-{mail.digest}"
        thread = thread_of(headers)
        text, quote = self._text(mail, sender.address)
        message = InboundMessage(
            address=Address(self._name, sender.address, _thread_id(thread, message_id)),
            message_id=message_id,
            dedupe_key=message_id if len(message_id) <= 250 else f"sha256-{_digest(message_id)}",
            sender=Sender(sender.address, label(sender.name)),
            text=text,
            sent_at=_sent_at(headers, arrived),
            attachments=files(mail, place),
            reply_to=thread.references[-1] if thread.references else None,
            quote=quote,
            tainted=True,
        )
        return ReadMail(message, thread)

    def _text(self, mail: Mail, sender: str) -> tuple[str, str]:
        """The mail's text, and the quoted history unless the bot wrote it."""
        headers = mail.headers
        subject = header(headers, "Subject")
        parts = list(texts(mail))
        whole = paragraphs(
            plain(part.text()) if part.type == "text/html" else part.text() for part in parts
        )
        long = len(whole) > MAX_TEXT_BYTES  # nested quotes get longer as text
        whole = whole[:MAX_TEXT_BYTES]
        if long or any(part.cut for part in parts):
            whole += f"\n\n[cut here: only {MAX_TEXT_BYTES // 1000} kB of a text are read]"
        if mail.cut:
            whole += f"\n\n[cut here: only {MAX_PARTS} parts of a mail are read]"
        if mail.sealed and not whole.strip():
            whole = "[the text of this mail is encrypted or sealed, and cannot be read]"
        own = mail_text(whole, forwarded=bool(_FORWARDED.match(subject)))
        decision = _DECISION.match(own.text)
        if decision is not None:
            # Text below it is added by their mail program.
            return decision[0].strip(), ""
        ids = thread_of(headers).references
        ours = any(self._stamp.sent(message_id, sender) for message_id in ids)
        quote = "" if ours else own.history[:_MAX_HISTORY]
        if not own.text:
            return _ANSWER.sub("", subject), quote
        if own.text.startswith("/") or (ids and _ANSWER.match(subject)) or not subject:
            return own.text, quote
        return f"Subject: {subject}\n\n{own.text}", quote

    def _bounce(self, mail: Mail) -> Bounce | None:
        """A delivery report (RFC 3464) about a mail that we really sent to that person."""
        if mail.headers.get_content_type() != "multipart/report":
            return None
        report = next((part for part in mail.parts if part.type == "message/delivery-status"), None)
        if report is None:
            return None
        ids = _ID.findall(
            "\n".join(
                header(headers_of(part.decoded()), "Message-ID")
                for part in mail.parts
                if part.type in {"message/rfc822", "text/rfc822-headers", "message/global"}
            )
        )
        for group in re.split(rb"\r?\n[ \t]*\r?\n", report.decoded()):
            about = headers_of(group)
            for recipient in _recipients(about):
                if any(self._stamp.sent(message_id, recipient) for message_id in ids):
                    final = header(about, "Action").lower() == "failed"
                    why = header(about, "Diagnostic-Code") or header(about, "Status")
                    return Bounce(recipient, label(why, 300), final)
        return None


def _recipients(about: Message) -> list[str]:
    values = [*all_headers(about, "Original-Recipient"), *all_headers(about, "Final-Recipient")]
    return [value.rpartition(";")[2].strip().strip("<>").lower() for value in values]


def _automatic(headers: Message, sender: str, own: str) -> str:
    """Why a mail was sent automatically, so that answering could loop (RFC 3834); "" if a person
    sent it."""
    if sender == own:
        return "that is this account itself"
    if header(headers, "Auto-Submitted").partition(";")[0].strip().lower() not in {"", "no"}:
        return "it was sent automatically"
    suppressed = header(headers, "X-Auto-Response-Suppress").lower().replace(",", " ").split()
    if _SUPPRESSES & set(suppressed):
        return "it wants no automatic answer"
    if header(headers, "Precedence").lower() in {"bulk", "list", "junk", "auto_reply"}:
        return "it was sent to many"
    header_name = next((name for name in _OF_PROGRAMS if header(headers, name)), "")
    if header_name:
        return f"it has a {header_name}"
    nobody = sender.partition("@")[0] in _ROBOTS or header(headers, "Return-Path") == "<>"
    is_report = headers.get_content_type() == "multipart/report"
    return "no person writes like that" if nobody or is_report else ""


def thread_of(headers: Message) -> MailThread:
    """The data that an answer takes from the mail with these headers."""
    ids = _ID.findall(" ".join(raw_headers(headers, "References")))
    for answered in _ID.findall(" ".join(raw_headers(headers, "In-Reply-To")))[:1]:
        if answered not in ids:
            ids.append(answered)
    return MailThread(header(headers, "Subject")[:900], tuple(dict.fromkeys(ids)))


def _thread_id(thread: MailThread, message_id: str) -> str:
    """The id of the conversation's first mail."""
    root = thread.references[0] if thread.references else message_id
    return root if _THREAD.fullmatch(root) else f"sha256-{_digest(root)}"


def message_id_of(headers: Message) -> str:
    """The Message-ID without its angle brackets; "" if there is none."""
    ids = _ID.findall(" ".join(raw_headers(headers, "Message-ID")))
    return str(ids[0]) if ids else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _sent_at(headers: Message, arrived: float) -> float:
    """The Date header in Unix seconds; the time of arrival if that is far off."""
    try:
        when = parsedate_to_datetime(header(headers, "Date")).timestamp()
    except (*ODD, OverflowError, OSError):
        return arrived
    return when if arrived - 7 * 86_400 < when < arrived + 3_600 else arrived


# Files


def files(mail: Mail, place: str) -> tuple[Attachment, ...]:
    """The attachments, to be fetched later."""
    return tuple(
        _file(part, place)
        for part in mail.parts
        if part.attached and part.end > part.start and part.type not in _SEALS
    )


def _file(part: Part, place: str) -> Attachment:
    size = part.end - part.start
    encoding = part.encoding if part.encoding in {"base64", "quoted-printable"} else "8bit"
    main, _, rest = part.type.partition("/")
    kind = main if main in {"image", "audio", "video"} else "document"
    if main == "message":
        subject = header(headers_of(part.body), "Subject") if rest == "rfc822" else ""
        name = part.name or f"{subject or 'mail'}.eml"
    else:
        name = part.name
    return Attachment(
        kind=kind,
        ref=f"{place}:{part.start}:{part.end}:{encoding}",
        name=file_name(name),
        mime=part.type,
        # 76 characters and a line end hold 57 bytes.
        size=size * 57 // 78 if encoding == "base64" else size,
    )
