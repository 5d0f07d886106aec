"""Headers of mails as people would read them, however malformed. Nothing here raises."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import collapse_rfc2231_value
from typing import TypeVar

# Exceptions of the email package on malformed headers.
ODD = (ValueError, TypeError, LookupError, AttributeError, MessageError, RecursionError)
_ALIASES = {
    "ascii": "utf-8",
    "us-ascii": "utf-8",
    "iso-8859-1": "windows-1252",  # like browsers: only control characters differ
    "latin-1": "windows-1252",
    "iso-8859-8-i": "iso-8859-8",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "x-sjis": "cp932",
    "shift_jis": "cp932",
}
# Python's internal codecs: no mail means them, and some take minutes for a megabyte.
_NO_CHARSETS = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}

MAX_LINE_BYTES = 998
"""The longest line of headers, without its line end (RFC 5322, 2.1.1)."""
# A field's name and colon (RFC 5322, 3.6.8), or the continuation of the field above.
_FIELD = re.compile(rb"[!-9;-~]+:")
_SHOWN = 40

T = TypeVar("T")


class Headers(Message):
    """Headers that know whether their part is a multipart."""

    @property
    def is_multipart_type(self) -> bool:
        """Whether the type is multipart/..."""
        return self.get_content_maintype() == "multipart"


def headers_of(raw: bytes) -> Headers:
    """The headers at the beginning of a mail; empty if they cannot be parsed."""
    parser = BytesHeaderParser(_class=Headers)
    headers = odd(None, lambda: parser.parsebytes(raw))
    return headers if isinstance(headers, Headers) else Headers()


def ambiguity(raw: bytes) -> str:
    """Why a mail server may parse this block of headers differently than `headers_of`; "" if both
    see the same fields.

    Lines end at LF for the server, but Python's parser also ends one at a bare CR. A sender could
    use that to hide a header from the server that checks the mail. A line that is not a header ends
    the headers for one program but not for another, so it may only be the last.
    """
    lines = [line.removesuffix(b"\r") for line in raw.removesuffix(b"\n").split(b"\n")]
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines):
        if b"\r" in line:
            return "a carriage return within a line of its headers"
        if b"\0" in line:
            return "a NUL in its headers"
        if len(line) > MAX_LINE_BYTES:
            return f"a line of {len(line)} bytes in its headers, over {MAX_LINE_BYTES}"
        continued = number > 0 and line[:1] in {b" ", b"\t"}
        last = number == len(lines) - 1 and b":" not in line
        if not continued and not last and _FIELD.match(line) is None:
            return f"a line in its headers that is not a header: {line[:_SHOWN]!r}"
    return ""


def odd(otherwise: T, make: Callable[[], T]) -> T:
    """The result of `make`; `otherwise` if the email package fails in one of its known ways."""
    try:
        return make()
    except ODD:
        return otherwise


def header(headers: Message, name: str) -> str:
    """The first header of that name, decoded, on one line; "" if there is none."""
    return next(iter(all_headers(headers, name)), "")


def all_headers(headers: Message, name: str) -> list[str]:
    """All headers of that name, decoded, each on one line, from the top."""
    return [_unfolded(_readable(value)) for value in _all(headers, name)]


def raw_headers(headers: Message, name: str) -> list[str]:
    """As `all_headers`, with encoded words left as they are: for structured headers."""
    return [_unfolded(value) for value in _all(headers, name)]


def _all(headers: Message, name: str) -> list[str]:
    """The undecoded values: the package's own values have lost non-ASCII characters."""
    return [str(value) for key, value in headers.raw_items() if key.lower() == name.lower()]


def _readable(raw: str) -> str:
    return odd(raw, lambda: words(raw))


def _unfolded(text: str) -> str:
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return " ".join(text.split())


def words(text: str) -> str:
    """A header's text with its encoded words (RFC 2047) decoded, if possible."""
    try:
        pieces = decode_header(text)
    except ODD:
        return text
    decoded = "".join(
        piece if isinstance(piece, str) else text_of(piece, charset or "")
        for piece, charset in pieces
    )
    return decoded if decoded.strip() else text


def file_name_of(headers: Message) -> str:
    """The sender's name for this part; "" if there is none."""
    name = headers.get_param("filename", None, "content-disposition")
    name = headers.get_param("name", None, "content-type") if name is None else name
    return _unfolded(words(collapse_rfc2231_value(name))) if name else ""


def text_of(data: bytes, charset: str) -> str:
    """Bytes as text: by the charset, else as UTF-8, else as Windows-1252. Never fails."""
    name = charset.strip().strip("\"'").lower()
    for encoding in (_ALIASES.get(name, name), "utf-8"):
        try:
            if encoding and codecs.lookup(encoding).name not in _NO_CHARSETS:
                return data.decode(encoding)
        except (LookupError, ValueError):
            continue
    return data.decode("windows-1252", "replace")
