"""Reads pages and documents in a separate process, which can be stopped and holds no secret."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import Process
from typing import IO

import msgspec

from nanobot.errors import ToolError
from nanobot.plugins.common.files.parse_job import MAX_TEXT, ParsedDocument, ParseJob
from nanobot.plugins.common.files.worker import working

SECONDS = 30.0
# JSON encodes one character in at most six bytes.
_MAX_ANSWER = MAX_TEXT * 6


async def read_document(
    job: ParseJob, file: int | IO[bytes], seconds: float = SECONDS
) -> ParsedDocument:
    """Read the part of an open file that `job` asks for. Raises ToolError if it cannot be read.

    It takes at most `seconds`; cancelling it also stops the process.
    """
    try:
        async with (
            asyncio.timeout(seconds),
            working("nanobot.plugins.common.files.document_worker", job, file) as process,
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
