"""Reads pages and documents in a separate process, which can be stopped and holds no secret."""

from __future__ import annotations

import asyncio
import signal
import struct
from asyncio.subprocess import Process
from typing import IO

import msgspec

from nanobot.errors import ToolError
from nanobot.tools.documents.parse_worker import MAX_TEXT, ParsedDocument, ParseJob
from nanobot.tools.worker import working

SECONDS = 30.0
MAX_DOCUMENT = 64 << 20
# JSON encodes one character in at most six bytes.
_MAX_ANSWER = MAX_TEXT * 6
_KINDS = {b"word/": "docx", b"xl/": "xlsx", b"ppt/": "pptx"}


def kind_of(head: bytes, name: str) -> str | None:
    """A file's kind of document (see parsing.Job), from its first bytes and its name."""
    if head.startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        # The first members of an archive identify it, otherwise its own name does.
        for folder, kind in _KINDS.items():
            if folder in head or name.lower().endswith(f".{kind}"):
                return kind
    return None


def image_line(head: bytes, size: int) -> str | None:
    """An image's properties, read without decoding it: "a PNG image, 640 x 480 pixels, 9 bytes"."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        kind, at, form = "PNG", 16, ">II"
    elif head.startswith((b"GIF87a", b"GIF89a")):
        kind, at, form = "GIF", 6, "<HH"
    elif head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _picture("WebP", _webp(head), size)
    elif head.startswith(b"\xff\xd8\xff"):
        return _picture("JPEG", _jpeg(head), size)
    else:
        return None
    measured = (
        struct.unpack_from(form, head, at) if len(head) >= at + struct.calcsize(form) else None
    )
    return _picture(kind, None if measured is None else (measured[0], measured[1]), size)


def _picture(kind: str, extent: tuple[int, int] | None, size: int) -> str:
    shape = "of unknown extent" if extent is None else f"{extent[0]} x {extent[1]} pixels"
    return f"a {kind} image, {shape}, {size:,} bytes"


def _webp(head: bytes) -> tuple[int, int] | None:
    if len(head) < 30:
        return None
    form, body = head[12:16], head[20:30]
    if form == b"VP8X":
        return (
            int.from_bytes(body[4:7], "little") + 1,
            int.from_bytes(body[7:10], "little") + 1,
        )
    if form == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    wide, high = struct.unpack("<HH", body[6:10])
    return wide & 0x3FFF, high & 0x3FFF


def _jpeg(head: bytes) -> tuple[int, int] | None:
    """Reads the frame header, found by skipping from segment to segment."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            high, wide = struct.unpack_from(">HH", head, at + 5)
            return wide, high
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None


async def read_document(
    job: ParseJob, file: int | IO[bytes], seconds: float = SECONDS
) -> ParsedDocument:
    """Read the part of an open file that `job` asks for. Raises ToolError if it cannot be read.

    It takes at most `seconds`; cancelling it also stops the process.
    """
    try:
        async with (
            asyncio.timeout(seconds),
            working("nanobot.tools.documents.parse_worker", job, file) as process,
        ):
            answer = await _answer(process)
            code = await process.wait()
    except TimeoutError as error:
        raise ToolError(f"reading it took over {seconds:g} s and was stopped") from error
    return _reading(answer, code)


async def _answer(process: Process) -> bytes:
    if process.stdout is None:
        raise AssertionError("the process was started without a pipe")
    answer = bytearray()
    while len(answer) <= _MAX_ANSWER and (piece := await process.stdout.read(1 << 16)):
        answer += piece
    return bytes(answer)


def _reading(answer: bytes, code: int) -> ParsedDocument:
    try:
        reading = msgspec.json.decode(answer, type=ParsedDocument)
    except msgspec.DecodeError as error:
        if code == -signal.SIGXCPU or code == -signal.SIGKILL:
            raise ToolError("reading it took too much processor time and was stopped") from error
        raise ToolError("it is broken, or not of the kind it seems: it cannot be read") from error
    if reading.error:
        raise ToolError(reading.error)
    return reading
