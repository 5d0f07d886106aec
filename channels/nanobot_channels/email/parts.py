"""Outbound messages as mails: plain text, and HTML made from the Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import cache

import msgspec
from markdown_it import MarkdownIt

from nanobot.messages import Attachment, Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.common.html import html_parser
from nanobot_channels.common.text import Rich, clean, clipped, one_line, split
from nanobot_channels.common.uploads import upload_mime, upload_name

TEXT_LIMIT = 200_000
"""Characters of one mail; servers accept some 10 MB, people read less."""
_EMPTY = "(empty message)"
_STYLE = "font-family:sans-serif;font-size:15px;line-height:1.5"
_LOOKS = {
    "pre": "background:#f5f5f5;padding:8px;overflow-x:auto;white-space:pre-wrap",
    "code": "font-family:monospace",
    "blockquote": "border-left:3px solid #ccc;margin-left:0;padding-left:10px;color:#555",
    "th": "border:1px solid #ccc;padding:4px 8px;text-align:left",
    "td": "border:1px solid #ccc;padding:4px 8px",
    "table": "border-collapse:collapse",
}
_TAG = re.compile(f"<({'|'.join(_LOOKS)})(?=[ >])")
_MARKS = re.compile(r"[*_`#>~|]+")


class Payload(msgspec.Struct, omit_defaults=True):
    """The payload of a part: the mail it answers, and its HTML."""

    reply_to: str = ""
    html: str = ""
    unasked: bool = False


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A mail's sender, recipient and conversation."""

    sender: str
    recipient: str
    subject: str
    message_id: str
    references: tuple[str, ...]
    unasked: bool
    now: float


@cache
def _parser() -> MarkdownIt:
    return html_parser()


def as_html(text: str) -> str:
    """Markdown as the body of a mail, with inline styles: mail programs have no style sheets."""
    html = _TAG.sub(lambda tag: f'{tag[0]} style="{_LOOKS[tag[1]]}"', _parser().render(text))
    return f'<div style="{_STYLE}">\n{html}</div>\n'


def render(message: OutboundMessage) -> list[OutboundPart]:
    """The parts of a message: one, except for extremely long texts; choices are written out."""
    text = clean(message.text)
    if message.choices:
        text = f"{text.rstrip()}\n\n{_choice_list(message.choices)}".strip()
    pieces = [piece.text for piece in split(Rich(text), TEXT_LIMIT)] or [_EMPTY]
    return [
        OutboundPart(
            text=piece,
            payload=msgspec.json.encode(
                Payload(message.reply_to or "", as_html(piece), not message.reply_to)
            ),
            key=f"{message.key}.{number}",
        )
        for number, piece in enumerate(pieces)
    ]


def _choice_list(choices: Sequence[Choice]) -> str:
    lines = [
        f"{number}. {one_line(choice.label) or choice.say}: answer with `{choice.say}`"
        for number, choice in enumerate(choices, 1)
    ]
    return "\n".join(["Answer this mail with one line:", "", *lines])


def payload_of(part: OutboundPart) -> Payload:
    """The payload of a stored part."""
    return msgspec.json.decode(part.payload, type=Payload) if part.payload else Payload()


def subject_of(text: str) -> str:
    """The subject of a mail that starts a conversation: the beginning of its text."""
    first = next((line for line in _MARKS.sub(" ", text).split("\n") if line.strip()), "")
    return clipped(" ".join(first.split()), 70) or "A message"


def composed(part: OutboundPart, envelope: Envelope, *, plain: bool = False) -> EmailMessage:
    """The mail without its attachments."""
    mail = EmailMessage(policy=SMTP)
    mail["From"] = f"nanobot <{envelope.sender}>"
    mail["To"] = envelope.recipient
    mail["Subject"] = one_line(envelope.subject)
    mail["Date"] = format_datetime(datetime.fromtimestamp(envelope.now, UTC))
    mail["Message-ID"] = f"<{envelope.message_id}>"
    if envelope.references:
        mail["In-Reply-To"] = f"<{envelope.references[-1]}>"
        mail["References"] = " ".join(f"<{reference}>" for reference in envelope.references)
    # These keep auto-responders silent (RFC 3834, and Exchange's own).
    mail["Auto-Submitted"] = "auto-generated" if envelope.unasked else "auto-replied"
    mail["X-Auto-Response-Suppress"] = "All"
    mail.set_content(part.text or _EMPTY, cte=_encoding(part.text))
    html = payload_of(part).html
    if html and not plain:
        mail.add_alternative(html, subtype="html", cte=_encoding(html))
    return mail


def attach(mail: EmailMessage, part: OutboundPart, content: bytes) -> None:
    """Attach the part's file to the mail."""
    file = part.file or Attachment(kind="document")
    main, _, rest = upload_mime(file).partition("/")
    if main in {"multipart", "message", "text"}:
        main, rest = "application", "octet-stream"
    mail.add_attachment(content, maintype=main, subtype=rest, filename=upload_name(file))


def as_bytes(mail: EmailMessage) -> bytes:
    """The transmitted form of the mail. Its headers are almost never folded: folding would break a
    long Message-ID.
    """
    return mail.as_bytes(policy=SMTP.clone(max_line_length=900))


def _encoding(text: str) -> str:
    plain = sum(char.isascii() for char in text)
    return "quoted-printable" if plain * 4 >= len(text) * 3 else "base64"
