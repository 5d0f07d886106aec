"""Parses a mail piece by piece: its parts, and their positions.

Only headers and the beginnings of texts are kept, so a mail of any size needs little memory.
Malformed mails are interpreted too; nothing here raises on any bytes.
"""

from __future__ import annotations

import binascii
import hashlib
import quopri
import re
from collections.abc import Callable, Iterator
from email.message import Message

import msgspec

from nanobot_channels.email.headers import (
    ambiguity,
    file_name_of,
    header,
    headers_of,
    odd,
    text_of,
)

MAX_TEXT_BYTES = 1_000_000
"""Bytes of a text that are kept; a longer text is cut, and marked as cut."""
MAX_HEADER_BYTES = 256_000
MAX_PARTS = 200
MAX_DEPTH = 20

_KEPT_OF_OTHERS = 64_000
_LONGEST_LINE = 64_000


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A leaf of the mail's tree: its bytes are `[start, end)` of the mail, `body` the first of
    them, still encoded. `alternative`: the multipart/alternative of which it is a version.
    """

    headers: Message
    start: int
    end: int
    body: bytes
    alternative: int | None = None

    @property
    def type(self) -> str:
        """Its media type, in lower case."""
        return self.headers.get_content_type()

    @property
    def encoding(self) -> str:
        """Its Content-Transfer-Encoding, in lower case."""
        return header(self.headers, "Content-Transfer-Encoding").strip().lower()

    @property
    def name(self) -> str:
        """Its file name, "" if it has none."""
        return odd("", lambda: file_name_of(self.headers))

    @property
    def attached(self) -> bool:
        """Whether it is a file, as opposed to text for display."""
        kind = odd(None, self.headers.get_content_disposition)
        # A multipart without parts is text.
        readable = self.type in _READ_ON_THE_SPOT or self.type.startswith("multipart/")
        return kind == "attachment" or bool(self.name) or not readable

    @property
    def cut(self) -> bool:
        """Whether the part is longer than `body`."""
        return len(self.body) < self.end - self.start

    def decoded(self) -> bytes:
        """The kept bytes of the body."""
        return decoded(self.body, self.encoding)

    def text(self) -> str:
        """The body as text, whatever its charset claims."""
        charset = odd(None, self.headers.get_content_charset)
        return text_of(self.decoded(), charset or "")


_READ_ON_THE_SPOT = frozenset({"text/plain", "text/html"})


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """A whole mail. `digest` is the sha256 of its bytes. `ambiguous` says why a mail server may
    read its headers differently; "" if it does not. `cut`: it has more than MAX_PARTS.
    """

    headers: Message
    ambiguous: str = ""
    parts: tuple[Part, ...]
    size: int
    digest: str
    cut: bool = False

    @property
    def sealed(self) -> bool:
        """Whether its text is inside a part that only its recipient's mail program opens."""
        return any(part.type in _SEALED for part in self.parts)


_SEALED = frozenset(
    {"application/pkcs7-mime", "application/x-pkcs7-mime", "application/pgp-encrypted"}
)


class _Container:
    """A multipart whose end has not been reached yet."""

    def __init__(self, headers: Message, boundary: bytes, alternative: int | None) -> None:
        self.headers = headers
        self.boundary = boundary
        self.alternative = alternative
        self.children = 0


class MailScanner:
    """Accepts a mail in pieces of any size; `mail` returns it after the last."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._headers: Message | None = None
        self._ambiguous = ""
        self._open: list[_Container] = []
        self._sha256 = hashlib.sha256()
        self._line = b""
        self._broken = False
        self._at = 0
        self._ending = 0
        self._start = 0
        self._raw = bytearray()
        self._reading: Message | None = None
        self._in_headers = True
        self._alternatives = 0
        self._cut = False

    def feed(self, data: bytes) -> None:
        """Read the next bytes of the mail."""
        self._sha256.update(data)
        lines = (self._line + data).split(b"\n")
        self._line = lines.pop()
        for line in lines:
            self._take(line + b"\n")
            self._broken = False
        if len(self._line) > _LONGEST_LINE:
            # No boundary is that long: the line continues, but none of it has to be held back.
            self._take(self._line)
            self._line, self._broken = b"", True

    def mail(self) -> Mail:
        """The mail, after its last byte."""
        if self._line:
            self._take(self._line)
            self._line = b""
        if self._in_headers:
            self._begin()
        self._finish(self._at)
        while self._open:
            self._close()
        headers = self._headers if self._headers is not None else Message()
        digest = self._sha256.hexdigest()
        return Mail(
            headers=headers,
            ambiguous=self._ambiguous,
            parts=tuple(self.parts),
            size=self._at,
            digest=digest,
            cut=self._cut,
        )

    def _take(self, line: bytes) -> None:
        level = None if self._broken or not line.startswith(b"--") else self._level(line)
        if level is not None:
            self._divide(level, line)
        elif self._in_headers:
            if len(self._raw) < MAX_HEADER_BYTES:
                self._raw += line
            elif self._headers is None:
                self._ambiguous = f"headers of over {MAX_HEADER_BYTES // 1000} kB"
            if not line.strip(b"\r\n") and not self._broken:
                self._at += len(line)
                self._begin()
                return
        elif self._reading is not None:
            room = self._room(self._reading) - len(self._raw)
            self._raw += line[: max(room, 0)]
        self._at += len(line)
        self._ending = 2 if line.endswith(b"\r\n") else int(line.endswith(b"\n"))

    def _room(self, headers: Message) -> int:
        kind = headers.get_content_maintype()
        return MAX_TEXT_BYTES if kind in {"text", "multipart"} else _KEPT_OF_OTHERS

    def _level(self, line: bytes) -> int | None:
        """The open multipart that this line is a boundary of, the innermost first."""
        stripped = line.rstrip()
        for level in range(len(self._open) - 1, -1, -1):
            mark = b"--" + self._open[level].boundary
            if stripped in (mark, mark + b"--"):
                return level
        return None

    def _divide(self, level: int, line: bytes) -> None:
        """A boundary: the current part ends before the preceding line end."""
        if self._in_headers:
            self._begin()
        self._finish(max(self._at - self._ending, self._start))
        while len(self._open) > level + 1:
            self._close()
        last = line.rstrip().endswith(self._open[level].boundary + b"--")
        if last or not self._roomy():
            self._cut = self._cut or not last
            self._close()
            return
        self._open[level].children += 1
        self._in_headers, self._raw = True, bytearray()

    def _roomy(self) -> bool:
        return len(self.parts) < MAX_PARTS

    def _begin(self) -> None:
        """After a part's headers: start its body."""
        raw = bytes(self._raw)
        headers = headers_of(raw)
        if self._headers is None:
            self._headers = headers
            self._ambiguous = self._ambiguous or ambiguity(raw)
        self._in_headers, self._start = False, self._at
        # A line that is not a header ends them, in a mail without the empty line.
        stray = odd("", lambda: str(headers.get_payload() or ""))
        self._raw = bytearray(stray.encode("utf-8", "surrogateescape"))
        self._start = max(self._start - len(self._raw), 0)
        self._reading = headers
        boundary = odd(None, headers.get_boundary) if headers.is_multipart_type else None
        if boundary and len(self._open) < MAX_DEPTH:
            self._push(headers, boundary)

    def _push(self, headers: Message, boundary: str) -> None:
        alternative = self._open[-1].alternative if self._open else None
        if headers.get_content_subtype() == "alternative":
            self._alternatives += 1
            alternative = self._alternatives
        mark = boundary.encode("utf-8", "surrogateescape").rstrip()
        self._open.append(_Container(headers, mark, alternative))

    def _finish(self, end: int) -> None:
        """End the current part. Text around the parts of a multipart is not a part."""
        reading, self._reading = self._reading, None
        if reading is None:
            return
        inside = self._open[-1] if self._open else None
        if inside is not None and inside.headers is reading:
            return
        alternative = inside.alternative if inside is not None else None
        self._add(reading, end, alternative)

    def _add(self, headers: Message, end: int, alternative: int | None) -> None:
        if self._roomy():
            body = bytes(self._raw[: max(end - self._start, 0)])
            self.parts.append(
                Part(
                    headers=headers,
                    start=self._start,
                    end=max(end, self._start),
                    body=body,
                    alternative=alternative,
                )
            )

    def _close(self) -> None:
        """End the innermost multipart. One without any part was just text."""
        closed = self._open.pop()
        if not closed.children and self._raw.strip():
            self._add(Message(), self._at, None)
        self._raw = bytearray()
        self._reading = None


_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")


def decoded(data: bytes, encoding: str) -> bytes:
    """The decoded bytes of a transfer encoding, as far as they are valid."""
    if encoding == "base64":
        clean = _NOT_BASE64.sub(b"", data)
        clean = clean[: len(clean) - 1] if len(clean) % 4 == 1 else clean
        try:
            return binascii.a2b_base64(clean + b"=" * (-len(clean) % 4))
        except binascii.Error:
            return data
    if encoding == "quoted-printable":
        return quopri.decodestring(data)
    return data


def pieces(encoding: str) -> Callable[[bytes, bool], bytes]:
    """An incremental decoder; its second argument marks the last piece."""
    rest = b""

    def more(data: bytes, last: bool) -> bytes:  # noqa: FBT001 - the decoder's second argument
        nonlocal rest
        rest += _NOT_BASE64.sub(b"", data) if encoding == "base64" else data
        if last:
            whole = len(rest)
        elif encoding == "base64":
            whole = len(rest) // 4 * 4
        elif encoding == "quoted-printable":
            whole = rest.rfind(b"\n") + 1
        else:
            whole = len(rest)
        now, rest = rest[:whole], rest[whole:]
        return decoded(now, encoding)

    return more


def texts(mail: Mail) -> Iterator[Part]:
    """The parts for display: of the versions of one text, the plain ones unless they are empty."""
    bodies = [part for part in mail.parts if not part.attached]
    plain = {
        part.alternative
        for part in bodies
        if part.alternative is not None and part.type == "text/plain" and part.text().strip()
    }
    for part in bodies:
        if part.alternative in plain and part.type != "text/plain":
            continue
        blank = part.alternative is not None and part.alternative not in plain
        if not (blank and part.type == "text/plain"):
            yield part
