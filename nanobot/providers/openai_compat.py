"""The lean client: OpenAI-compatible /chat/completions, streamed over aiohttp."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp
import msgspec
from yarl import URL

from nanobot.errors import ConfigError, ModelProtocolError, ModelRateLimited
from nanobot.ports import Clock
from nanobot.providers.base import (
    Delta,
    ModelProfile,
    ModelRequest,
    ReasoningDelta,
    Retrying,
    TextDelta,
)
from nanobot.providers.models import profile_for
from nanobot.providers.openai_errors import (
    Failure,
    Speaker,
    failure_in_stream,
    failure_of_connection,
    failure_of_protocol,
    failure_of_status,
)
from nanobot.providers.openai_http import Line, may_pass, words
from nanobot.providers.openai_request import Quirks, encode_request, learned
from nanobot.providers.openai_stream import AnswerReader, StreamError

_MAX_ERROR_BODY = 65_536
_LONGEST_WAIT = 60.0
# After [DONE] only the end of the body is outstanding; reading it lets the connection be reused.
_GOODBYE_SECONDS = 0.1


@dataclass(frozen=True)
class CallPolicy:
    """How patient a call is. All in seconds, but `attempts` and `max_bytes`.

    `first_byte_seconds` may pass until the first byte and `stall_seconds` between any two;
    `call_seconds` bounds one attempt. `jitter` gives numbers from 0 to 1.
    """

    attempts: int = 6
    protocol_attempts: int = 3
    backoff_seconds: float = 0.5
    max_backoff_seconds: float = 16.0
    connect_seconds: float = 10.0
    first_byte_seconds: float = 120.0
    stall_seconds: float = 60.0
    call_seconds: float = 900.0
    max_bytes: int = 8_000_000
    jitter: Callable[[], float] = random.random


class _AttemptFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.why)
        self.failure = failure


class OpenAICompatProvider:
    """An `LLMProvider` for one OpenAI-compatible endpoint.

    Retried, with a `Retrying` before each wait: no connection, 408, 409, 425, 429, 5xx, silence,
    a stream cut half-way, an error object in it, an answer that cannot be read. Waits are 0.5 s
    doubling to 16 s, or what `retry-after` asks for; a wish of more than 60 s is raised at once
    as ModelRateLimited. Cancelling closes the connection. Proxies and certificates come from the
    environment, proxies never for loopback addresses.
    Raises ConfigError for an `api_base` or `api_key` that cannot work.
    """

    def __init__(
        self,
        name: str,
        api_base: str,
        api_key: str = "",
        *,
        clock: Clock,
        profiles: Callable[[str, str], ModelProfile] = profile_for,
        policy: CallPolicy | None = None,
    ) -> None:
        self.name = name
        self.api_base = _checked_base(name, api_base)
        self._api_key = _checked_key(name, api_key)
        self._clock = clock
        self._profiles = profiles
        self._policy = policy or CallPolicy()
        self._line = Line(
            f"{self.api_base}/chat/completions",
            _headers(self.api_base, self._api_key),
            self._policy.connect_seconds,
        )
        self._quirks: dict[str, Quirks] = {}
        # OpenAI's own newer models refuse `max_tokens`; most other servers know nothing else.
        self._first_quirks = Quirks(completion_tokens="//api.openai.com" in self.api_base)

    def profile(self, model: str) -> ModelProfile:
        """From the table; without tools once the endpoint said that the model takes none."""
        profile = self._profiles(self.name, model)
        if self._quirks_of(model).no_tools:
            return msgspec.structs.replace(profile, tools=False)
        return profile

    async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Deltas, then one Completion; raises the ModelError of the last attempt."""
        policy = self._policy
        failed = 0
        misread = 0
        while True:
            try:
                async with aclosing(self._attempt(request)) as attempt:
                    async for delta in attempt:
                        yield delta
            except _AttemptFailed as problem:
                failure = problem.failure
            else:
                return
            if self._learn(request, failure):
                yield Retrying(0.0, "the endpoint refuses a parameter; asking without it")
                continue
            failed += 1
            misread += isinstance(failure.error, ModelProtocolError)
            spent = failed >= policy.attempts or misread >= policy.protocol_attempts
            if spent or not failure.again:
                raise failure.error
            delay = self._delay(failed, failure)
            yield Retrying(delay, failure.why)
            await self._clock.sleep(delay)

    async def close(self) -> None:
        """End every connection."""
        await self._line.close()

    def _delay(self, failed: int, failure: Failure) -> float:
        wish = failure.retry_after or 0.0
        if wish > _LONGEST_WAIT:
            raise ModelRateLimited(str(failure.error), wish)
        policy = self._policy
        backoff = min(policy.max_backoff_seconds, policy.backoff_seconds * 2.0 ** (failed - 1))
        return max(wish, backoff * (0.75 + 0.5 * policy.jitter()))

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[Delta]:
        speaker = Speaker(self.name, request.model, self.api_base, self._api_key)
        reader = AnswerReader()
        shown = False
        try:
            async with aclosing(self._read(request, reader, speaker)) as deltas:
                async for delta in deltas:
                    shown = shown or isinstance(delta, TextDelta)
                    yield delta
        except (aiohttp.ClientError, OSError) as problem:
            if not reader.complete:
                lost = failure_of_connection(speaker, words(problem), again=may_pass(problem))
                raise _AttemptFailed(lost) from problem
        except StreamError as problem:
            raise _AttemptFailed(failure_in_stream(speaker, problem.body)) from problem
        except ModelProtocolError as problem:
            raise _AttemptFailed(failure_of_protocol(speaker, str(problem))) from problem
        if not reader.complete:
            cut = failure_of_connection(speaker, "the answer was cut off half-way")
            raise _AttemptFailed(cut)
        completion = reader.completion()
        if completion.text and not shown:
            yield TextDelta(completion.text)
        yield completion

    async def _read(
        self, request: ModelRequest, reader: AnswerReader, speaker: Speaker
    ) -> AsyncGenerator[TextDelta | ReasoningDelta]:
        policy = self._policy
        ends = self._clock.monotonic() + policy.call_seconds
        received = 0
        response = await self._send(request)
        try:
            if not 200 <= response.status <= 299:
                raise _AttemptFailed(await self._status_failure(speaker, response))
            patience = policy.first_byte_seconds
            while True:
                if reader.done:
                    patience = _GOODBYE_SECONDS
                async with asyncio.timeout(patience):
                    piece = await response.content.readany()
                if not piece:
                    break
                received += len(piece)
                if received > policy.max_bytes:
                    raise _AttemptFailed(_endless(speaker, policy.max_bytes))
                for delta in reader.feed(piece):
                    yield delta
                patience = min(policy.stall_seconds, ends - self._clock.monotonic())
            for delta in reader.end():
                yield delta
        finally:
            response.close()

    async def _send(self, request: ModelRequest) -> aiohttp.ClientResponse:
        body = encode_request(request, self._quirks_of(request.model))
        async with asyncio.timeout(self._policy.first_byte_seconds):
            return await self._line.post(body)

    async def _status_failure(self, speaker: Speaker, response: aiohttp.ClientResponse) -> Failure:
        body = b""
        with suppress(aiohttp.ClientError, OSError):  # the status speaks for itself
            async with asyncio.timeout(self._policy.stall_seconds):
                while len(body) <= _MAX_ERROR_BODY and (piece := await response.content.readany()):
                    body += piece
        return failure_of_status(
            speaker, response.status, response.headers, body, self._clock.now()
        )

    def _quirks_of(self, model: str) -> Quirks:
        return self._quirks.get(model, self._first_quirks)

    def _learn(self, request: ModelRequest, failure: Failure) -> bool:
        """Whether the endpoint named a parameter it refuses, for the first time."""
        quirks = self._quirks_of(request.model)
        found = learned(quirks, failure.status, str(failure.error), tools=bool(request.tools))
        self._quirks[request.model] = found
        return found != quirks


def _headers(api_base: str, api_key: str) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "user-agent": "nanobot",
    }
    # A name and password within the address become the same header.
    if api_key and "@" not in urlsplit(api_base).netloc:
        headers["authorization"] = f"Bearer {api_key}"
    return headers


def _endless(speaker: Speaker, limit: int) -> Failure:
    failure = failure_of_protocol(speaker, f"more than {limit} bytes and still no end")
    return msgspec.structs.replace(failure, again=False)


def _checked_base(name: str, api_base: str) -> str:
    base = api_base.strip().rstrip("/").removesuffix("/chat/completions")
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        usable = usable and bool(URL(base).host)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"providers.{name}.api_base is {api_base!r}, which is no address. "
            "Write it like https://api.example.com/v1."
        )
    return base


def _checked_key(name: str, api_key: str) -> str:
    key = api_key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"providers.{name}.api_key holds characters that no key has. Paste it again."
        )
    return key
