"""A server that runs as a local program: messages over its standard input and output.

Its output is limited, and it is killed together with everything it has started.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from nanobot.plugins.common.processes import end
from nanobot.plugins.mcp.complaints import telling_line
from nanobot.plugins.mcp.connection_state import (
    MAX_MESSAGE_BYTES,
    SECONDS,
    ConnectionState,
    Pace,
)
from nanobot.text import quoted

# The protocol's shutdown: close its input, wait, SIGTERM, then SIGKILL.
_PATIENCE_SECONDS = 2.0
_COMPLAINT_BYTES = 16_000
_LAST_WORDS_SECONDS = 3.0

_Inbox = MemoryObjectSendStream[SessionMessage | Exception]


@asynccontextmanager
async def talking(process: Process, line: ConnectionState) -> AsyncIterator[TransportStreams]:
    """Talk to a program within this context; at the end it is killed with its process group. `line`
    is told if it exits, floods, or sends a message that is too large.
    """
    received, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbox, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    complaints = _Complaints()
    line.words = complaints.telling
    try:
        async with asyncio.TaskGroup() as tasks, received, inbox, outbox, to_send:
            jobs = [
                tasks.create_task(_hear(process, received, complaints, line), name="mcp: stdout"),
                tasks.create_task(_speak(process, to_send, complaints, line), name="mcp: stdin"),
                tasks.create_task(_note(process, complaints), name="mcp: stderr"),
            ]
            try:
                yield inbox, outbox
            finally:
                for job in jobs:
                    job.cancel()
    finally:
        await _end(process)


class _Complaints:
    """The end of a program's standard error; `whole` once it is complete. `heard`: no more of its
    standard output is read."""

    def __init__(self) -> None:
        self.text = bytearray()
        self.whole, self.heard = asyncio.Event(), asyncio.Event()
        self.garbled = b""

    def telling(self) -> str:
        """The part that may explain why it does not work, quoted; "" if there is none."""
        if words := telling_line(self.text.decode("utf-8", "replace")):
            return quoted(words)
        if not self.garbled.strip():
            return ""
        said = quoted(self.garbled.decode("utf-8", "replace").strip())
        return f"its standard output contains text that is not a message: {said}"


async def _hear(
    process: Process, received: _Inbox, complaints: _Complaints, line: ConnectionState
) -> None:
    try:
        await _listen(process, received, complaints, line)
    finally:
        complaints.heard.set()


async def _listen(
    process: Process, received: _Inbox, complaints: _Complaints, line: ConnectionState
) -> None:
    """Pass on its output, line by line, until it ends or breaks the rules."""
    stdout, pace = _pipe(process.stdout), Pace()
    # Closing it tells the session that nothing more comes.
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with received:
            while True:
                try:
                    raw = await stdout.readline()
                except ValueError:
                    line.end(f"it sent a message of more than {MAX_MESSAGE_BYTES:,} bytes")
                    return
                if not raw:
                    line.end(await _last_words(process, complaints))
                    return
                if pace.flooded():
                    line.end(f"it sent too many messages within {SECONDS:g} s")
                    return
                message = _message(raw)
                if isinstance(message, Exception):
                    complaints.garbled = complaints.garbled or raw[:1_000]
                await received.send(message)


def _message(raw: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(raw, by_name=False))
    except ValueError as error:
        if b"\\ud" not in raw.lower():
            return error
        try:
            whole = _whole(raw)
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(whole, by_name=False))
        except (ValueError, RecursionError):
            return error


def _whole(raw: bytes) -> bytes:
    """Remove lone surrogates, which JavaScript writes where it has cut a text. An answer discarded
    because of one would leave its call without an answer.
    """
    read = json.loads(raw.decode("utf-8", "replace"))
    return json.dumps(read, ensure_ascii=False).encode("utf-8", "replace")


async def _last_words(process: Process, complaints: _Complaints) -> str:
    """How it ended, with the line it wrote about it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORDS_SECONDS):
            await process.wait()
            await complaints.whole.wait()
    code = process.returncode
    how = "it closed its output" if code is None else f"it ended with exit code {code}"
    words = complaints.telling()
    return f"{how}: {words}" if words else how


async def _speak(
    process: Process,
    to_send: MemoryObjectReceiveStream[SessionMessage],
    complaints: _Complaints,
    line: ConnectionState,
) -> None:
    stdin = process.stdin
    if stdin is None:
        raise AssertionError("the program was started without a pipe")
    async with to_send:
        async for message in to_send:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                stdin.write(text.encode() + b"\n")
                await stdin.drain()
            except OSError as error:
                # A program that has ended reads nothing either: what it said last is the reason.
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_WORDS_SECONDS):
                        await complaints.heard.wait()
                line.end(f"it does not read its input ({error})")
                return


async def _note(process: Process, complaints: _Complaints) -> None:
    """Keep the end of its standard error, and never let the program wait for a reader."""
    stderr = _pipe(process.stderr)
    while chunk := await stderr.read(65_536):
        complaints.text += chunk
        del complaints.text[:-_COMPLAINT_BYTES]
    complaints.whole.set()


def _pipe(stream: asyncio.StreamReader | None) -> asyncio.StreamReader:
    if stream is None:
        raise AssertionError("the program was started without a pipe")
    return stream


async def _end(process: Process) -> None:
    try:
        if process.stdin is not None:
            process.stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await _gone(process):
                break
            _signal(process, number)
    finally:
        # Also kills processes it left behind, even if this was cancelled.
        _signal(process, signal.SIGKILL)
        await end(process)


async def _gone(process: Process) -> bool:
    """Whether it ends within a while. Its remaining output is read: it might block on writing."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_SECONDS):
            for stream in (process.stdout, process.stderr):
                while await _pipe(stream).read(65_536):
                    pass
            await process.wait()
    return process.returncode is not None


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
