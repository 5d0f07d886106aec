"""Calls of an OpenAI-compatible endpoint with a single JSON answer, without a stream."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Generic, TypeVar

import aiohttp
import msgspec

from nanobot.ports import Clock
from nanobot.providers.openai_errors import (
    ProviderFailure,
    Speaker,
    failure_of_protocol,
    failure_of_status,
)
from nanobot.providers.openai_http import EndpointClient, failure_of_line
from nanobot.providers.retrying import CallPolicy, Endpoint

_ATTEMPTS = 3

T = TypeVar("T")


class SingleRequest(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One call: its path under the endpoint's URL, its body, the type of its answer (`bytes`:
    unparsed), the maximum size of the answer in bytes, and the type of the body.
    """

    path: str
    body: bytes
    answer: type[T]
    max_bytes: int
    content_type: str = "application/json"


async def ask_once(call: SingleRequest[T], endpoint: Endpoint) -> T:
    """The answer. Makes up to three attempts if a retry may help; raises the ModelError of the
    last.
    """
    speaker, policy, clock = endpoint.speaker, endpoint.policy, endpoint.clock
    accepted = "*/*" if call.answer is bytes else "application/json"
    headers = {**endpoint.headers, "content-type": call.content_type, "accept": accepted}
    line = EndpointClient(f"{speaker.api_base}/{call.path}", headers, policy.connect_seconds)
    try:
        failed = 0
        while True:
            answer = await _attempt(line, call, speaker, policy, clock)
            if not isinstance(answer, ProviderFailure):
                return answer
            failed += 1
            if failed == _ATTEMPTS or not answer.again:
                raise answer.error
            await clock.sleep(policy.delay(failed, answer))
    finally:
        await line.close()


async def _attempt(
    line: EndpointClient, call: SingleRequest[T], speaker: Speaker, policy: CallPolicy, clock: Clock
) -> T | ProviderFailure:
    try:
        async with asyncio.timeout(policy.first_token_seconds):
            response = await line.post(call.body)
            try:
                data = b""
                while len(data) <= call.max_bytes and (piece := await response.content.readany()):
                    data += piece
            finally:
                response.close()
    except (aiohttp.ClientError, OSError) as problem:
        return failure_of_line(speaker, problem)
    if not 200 <= response.status <= 299:
        return failure_of_status(speaker, response.status, response.headers, data, clock.now())
    if len(data) > call.max_bytes:
        failure = failure_of_protocol(speaker, f"more than {call.max_bytes:,} bytes")
        return msgspec.structs.replace(failure, again=False)
    if isinstance(data, call.answer):
        return data
    with suppress(ValueError, RecursionError):  # errors of JSON and of UTF-8
        return msgspec.json.decode(data, type=call.answer)
    failure = failure_of_protocol(speaker, data[:200].decode("utf-8", "replace"))
    return msgspec.structs.replace(failure, again=False)
