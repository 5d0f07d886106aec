"""Text files: their encoding, pages of lines, and replacing one passage."""

from __future__ import annotations

import codecs
import difflib
import io
import os

import msgspec

from nanobot.errors import ToolError
from nanobot.text import pattern, quoted

MAX_LINE = 2_000
# How much is read to find a page; beyond that, a search tool is better.
MAX_SCAN = 64 * 1024 * 1024
MAX_COMPARED = 5_000

_SNIFF = 8192
_MAGIC = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF container (WebP, WAV or AVI)"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x7fELF", "an ELF program"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"\xd0\xcf\x11\xe0", "an Office document that is encrypted or of the old kind (.doc, .xls)"),
    (b"OggS", "Ogg audio"),
    (b"ID3", "MP3 audio"),
)
_CONTROL = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\b\x1b")
_UNDECODED = pattern("[\udc80-\udcff]")


class Codec(msgspec.Struct, frozen=True):
    """An encoding, with the byte order mark at the start of the file."""

    name: str
    mark: bytes = b""

    @property
    def label(self) -> str:
        return {"latin-1": "Latin-1"}.get(self.name, self.name.upper())

    def encode(self, text: str) -> bytes:
        """The bytes of a whole file. Raises ToolError for characters that this encoding cannot
        represent.
        """
        try:
            return self.mark + text.encode(self.name)
        except UnicodeEncodeError as error:
            what = quoted(text[error.start : error.end], 20)
            raise ToolError(f"the file is {self.label} text, which cannot hold {what}") from error


_UTF8 = Codec("utf-8")
_LATIN1 = Codec("latin-1")
_MARKED = (
    Codec("utf-8", codecs.BOM_UTF8),
    Codec("utf-32-le", codecs.BOM_UTF32_LE),
    Codec("utf-16-le", codecs.BOM_UTF16_LE),
    Codec("utf-16-be", codecs.BOM_UTF16_BE),
)


def codec_of(head: bytes, size: int) -> Codec:
    """The encoding of a file that begins with `head`. Raises ToolError if it is not text."""
    for codec in _MARKED:
        if head.startswith(codec.mark):
            return codec
    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if kind is None and (b"\0" in head or _mostly_control(head)):
        kind = "binary data"
    if kind is not None:
        raise ToolError(f"this is not a text file but {kind}, {size:,} bytes")
    return _UTF8


def _mostly_control(head: bytes) -> bool:
    return len(head) - len(head.translate(None, _CONTROL)) > len(head) // 10


def decode(data: bytes) -> tuple[str, Codec]:
    """A whole file's text without its mark, and the codec to encode it again."""
    codec = codec_of(data[:_SNIFF], len(data))
    try:
        return data[len(codec.mark) :].decode(codec.name), codec
    except UnicodeDecodeError as error:
        if codec.mark:
            raise ToolError(f"the file is broken {codec.label} text") from error
        return data.decode("latin-1"), _LATIN1


def read_page(descriptor: int, size: int, offset: int, limit: int, room: int) -> str:
    """Up to `limit` lines from line `offset` (the first is 1), in at most about `room` characters.

    A last line in brackets says what is missing and how to request it. The memory used is that of a
    page, whatever the file's size. Raises ToolError if the file is not text.
    """
    head = os.pread(descriptor, _SNIFF, 0)
    if not head:
        return "[the file is empty]"
    codec = codec_of(head, size)
    os.lseek(descriptor, len(codec.mark), os.SEEK_SET)
    errors = "surrogateescape" if codec == _UTF8 else "replace"
    with open(descriptor, encoding=codec.name, errors=errors, closefd=False) as stream:
        page = _Page(stream)
        page.skip(offset - 1)
        page.take(limit, room)
        return page.text(offset, codec)


class _Page:
    """Reads lines without holding more of a line than it shows."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream
        self._scanned = 0
        self._lines: list[str] = []
        self._more = False
        self._crlf = False

    def skip(self, count: int) -> None:
        """Skip `count` lines. Raises ToolError if there are fewer, or they are too long."""
        passed = 0
        while passed < count:
            part = self._part(65_536)
            if not part:
                lines = "1 line" if passed == 1 else f"{passed} lines"
                raise ToolError(f"line {count + 1} is past the end: the file has {lines}")
            passed += part.endswith("\n")

    def take(self, limit: int, room: int) -> None:
        """Read lines up to `limit`, `room` or the end."""
        while line := self._part(MAX_LINE + 1):
            if len(self._lines) == limit or (self._lines and len(line) > room):
                self._more = True
                break
            if not line.endswith("\n") and len(line) > MAX_LINE:
                line = f"{line[:MAX_LINE]} [... {self._rest_of_line() + 1:,} more characters]\n"
            room -= len(line)
            self._lines.append(line)
        self._crlf = "\r\n" in (self._stream.newlines or ())

    def text(self, offset: int, codec: Codec) -> str:
        """The page and its notes."""
        text = "".join(self._lines)
        label = "" if codec == _UTF8 else f"{codec.label} text with a byte order mark"
        if _UNDECODED.search(text):
            text = text.encode("utf-8", "surrogateescape").decode("latin-1")
            label = "not UTF-8: shown as Latin-1"
        notes = [label] if label else []
        if self._crlf:
            notes.append("line ends are CRLF")
        last = offset + len(self._lines) - 1
        if self._more:
            notes.append(f"lines {offset} to {last}; the rest begins at offset={last + 1}")
        elif offset > 1:
            notes.append(f"lines {offset} to {last}, the end of the file")
        if not notes:
            return text
        return f"{text.removesuffix(chr(10))}\n\n[{'; '.join(notes)}]"

    def _part(self, limit: int) -> str:
        part = self._stream.readline(limit)
        self._scanned += len(part)
        if self._scanned > MAX_SCAN:
            raise ToolError(
                f"the lines asked for are not within the first {MAX_SCAN >> 20} MB of this file: "
                "search it, or cut it with exec"
            )
        return part

    def _rest_of_line(self) -> int:
        count = 0
        while part := self._part(65_536):
            count += len(part)
            if part.endswith("\n"):
                return count - 1
        return count


def replace_once(text: str, old: str, new: str) -> tuple[str, int]:
    """`text` with the only occurrence of `old` replaced, and the number of the first changed line.

    Line ends in `old` and `new` are converted to those of the text. Raises ToolError if `old` does
    not occur exactly once.
    """
    ends = _line_ends(text)
    for sought, put in ((_with(old, ends), _with(new, ends)), (old, new)):
        at = text.find(sought)
        if at < 0:
            continue
        if text.find(sought, at + 1) >= 0:
            raise ToolError(
                f"old_text occurs {_count(text, sought)} times: add more of the lines around it, "
                f"so that it occurs once"
            )
        return text[:at] + put + text[at + len(sought) :], _line_of(text, at, ends)
    raise ToolError(f"old_text does not occur in the file.{_nearest(text, old)}")


def _line_ends(text: str) -> str:
    windows, unix = text.count("\r\n"), text.count("\n")
    if unix == 0 and "\r" in text:
        return "\r"
    return "\r\n" if windows * 2 > unix else "\n"


def _with(text: str, ends: str) -> str:
    plain = text.replace("\r\n", "\n")
    return plain if ends == "\n" else plain.replace("\n", ends)


def _line_of(text: str, at: int, ends: str) -> int:
    return text.count(ends, 0, at) + 1


def _count(text: str, sought: str) -> int:
    count = 0
    at = text.find(sought)
    while at >= 0:
        count += 1
        at = text.find(sought, at + 1)
    return count


def _nearest(text: str, old: str) -> str:
    """The lines most similar to the first meaningful line of `old`, for the model to copy."""
    telling_line = next((line.strip() for line in old.splitlines() if line.strip()), "")[:200]
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines()[:MAX_COMPARED], start=1):
        lines.setdefault(line.strip()[:200], number)
    near = difflib.get_close_matches(telling_line, lines, n=3, cutoff=0.6) if telling_line else []
    if not near:
        return " No line is like it: read the file again."
    shown = "\n".join(f"{lines[line]}: {line}" for line in sorted(near, key=lines.__getitem__))
    return f" It must be the same to the last space. The nearest lines (number: text):\n{shown}"
