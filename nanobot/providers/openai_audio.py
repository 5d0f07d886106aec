"""Transcriptions by an OpenAI-compatible endpoint: POST /audio/transcriptions.

https://platform.openai.com/docs/api-reference/audio/createTranscription
"""

from __future__ import annotations

import asyncio
import re
import secrets
from contextlib import suppress

import aiohttp
import msgspec

from nanobot.ports import Clock
from nanobot.providers.openai_errors import (
    Failure,
    Speaker,
    failure_of_connection,
    failure_of_protocol,
    failure_of_status,
)
from nanobot.providers.openai_http import Line, may_pass, words
from nanobot.providers.retrying import CallPolicy

_ATTEMPTS = 3
_MAX_BYTES = 4_000_000
_UNQUOTED = re.compile(r'[\x00-\x1f"\\]')


class _Transcript(msgspec.Struct):
    text: str


class Recording(msgspec.Struct, frozen=True):
    """What is to be transcribed; `name` is its file name, by which endpoints know its format."""

    audio: bytes
    name: str


def form(recording: Recording, model: str, boundary: str) -> bytes:
    """The body, as multipart/form-data."""
    name = _UNQUOTED.sub("_", recording.name) or "voice.ogg"
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n{model}\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode("utf-8", "replace") + recording.audio + f"\r\n--{boundary}--\r\n".encode()


async def transcribe(
    recording: Recording,
    speaker: Speaker,
    headers: dict[str, str],
    policy: CallPolicy,
    clock: Clock,
) -> str:
    """What is said in it. Three attempts where another may help; raises the ModelError of the
    last."""
    boundary = secrets.token_hex(16)
    own = {
        "content-type": f"multipart/form-data; boundary={boundary}",
        "accept": "application/json",
    }
    url = f"{speaker.api_base}/audio/transcriptions"
    line = Line(url, headers | own, policy.connect_seconds)
    body = form(recording, speaker.model, boundary)
    try:
        failed = 0
        while True:
            answer = await _attempt(line, body, speaker, policy, clock)
            if isinstance(answer, str):
                return answer
            failed += 1
            if failed == _ATTEMPTS or not answer.again:
                raise answer.error
            await clock.sleep(policy.delay(failed, answer))
    finally:
        await line.close()


async def _attempt(
    line: Line, body: bytes, speaker: Speaker, policy: CallPolicy, clock: Clock
) -> str | Failure:
    try:
        async with asyncio.timeout(policy.first_byte_seconds):
            response = await line.post(body)
            try:
                data = b""
                while len(data) <= _MAX_BYTES and (piece := await response.content.readany()):
                    data += piece
            finally:
                response.close()
    except (aiohttp.ClientError, OSError) as problem:
        return failure_of_connection(speaker, words(problem), again=may_pass(problem))
    if not 200 <= response.status <= 299:
        return failure_of_status(speaker, response.status, response.headers, data, clock.now())
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(data, type=_Transcript).text
    failure = failure_of_protocol(speaker, data[:200].decode("utf-8", "replace"))
    return msgspec.structs.replace(failure, again=False)
