"""The lean client: OpenAI-compatible /chat/completions, streamed over aiohttp."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from urllib.parse import urlsplit

import aiohttp
import msgspec
from yarl import URL

from nanobot.errors import ConfigError, ModelProtocolError
from nanobot.ports import Clock
from nanobot.providers.base import (
    Delta,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)
from nanobot.providers.capabilities import profile_for
from nanobot.providers.openai_chunk import StreamError
from nanobot.providers.openai_errors import (
    ProviderFailure,
    Speaker,
    failure_in_stream,
    failure_of_connection,
    failure_of_protocol,
    failure_of_status,
)
from nanobot.providers.openai_http import EndpointClient, is_refused, may_pass, words
from nanobot.providers.openai_request import Quirks, encode_request, learned
from nanobot.providers.openai_speech import speak
from nanobot.providers.openai_stream import AnswerReader
from nanobot.providers.retrying import AnswerEnds, AttemptFailed, CallPolicy, with_retries
from nanobot.providers.suggestions import with_nearest

_MAX_ERROR_BODY = 65_536


class OpenAICompatProvider(LLMProvider):
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
        self._line = self._line_to("chat/completions")
        self._ends = AnswerEnds()
        self._quirks: dict[str, Quirks] = {}
        # OpenAI's own newer models refuse `max_tokens`; most other servers know nothing else.
        self._first_quirks = Quirks(completion_tokens="//api.openai.com" in self.api_base)

    def profile(self, model: str) -> ModelProfile:
        """From the table; without tools once the endpoint said that the model takes none."""
        profile = self._profiles(self.name, model)
        if self._quirks_of(model).no_tools:
            return msgspec.structs.replace(profile, tools=False)
        return profile

    def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Deltas, then one Completion; raises the ModelError of the last attempt."""

        def attempt() -> AsyncGenerator[Delta]:
            return self._attempt(request)

        def learn(failure: ProviderFailure) -> bool:
            return self._learn(request, failure)

        return with_retries(attempt, self._policy, self._clock, learn)

    async def transcribe(self, audio: bytes, name: str, model: str) -> str:
        """What is said in a recording; `name` is its file name. Raises ModelError."""
        from nanobot.providers.openai_audio import Recording, transcribe  # noqa: PLC0415

        speaker = Speaker(self.name, model, self.api_base, self._api_key)
        headers = _headers(self.api_base, self._api_key)
        return await transcribe(Recording(audio, name), speaker, headers, self._policy, self._clock)

    async def speak(self, text: str, voice: str, model: str) -> bytes:
        """The text as sound, by that voice. Raises ModelError."""
        speaker = Speaker(self.name, model, self.api_base, self._api_key)
        headers = _headers(self.api_base, self._api_key)
        return await speak(text, voice, speaker, headers, (self._policy, self._clock))

    async def embed(self, texts: Sequence[str], model: str) -> list[list[float]]:
        """A vector for each text. Raises ModelError."""
        from nanobot.providers.openai_embeddings import embed  # noqa: PLC0415

        speaker = Speaker(self.name, model, self.api_base, self._api_key)
        headers = _headers(self.api_base, self._api_key)
        return await embed(texts, speaker, headers, self._policy, self._clock)

    async def close(self) -> None:
        await self._line.close()

    def _line_to(self, path: str) -> EndpointClient:
        headers = _headers(self.api_base, self._api_key)
        return EndpointClient(f"{self.api_base}/{path}", headers, self._policy.connect_seconds)

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
                lost = failure_of_connection(
                    speaker, words(problem), again=may_pass(problem), refused=is_refused(problem)
                )
                raise AttemptFailed(lost, paid=reader.begun) from problem
        except StreamError as problem:
            failure = failure_in_stream(speaker, problem.body)
            raise AttemptFailed(failure, paid=reader.begun) from problem
        except ModelProtocolError as problem:
            raise AttemptFailed(failure_of_protocol(speaker, str(problem))) from problem
        if not self._ends.whole(request.model, complete=reader.complete, begun=reader.begun):
            cut = failure_of_connection(speaker, "the answer was cut off half-way")
            raise AttemptFailed(cut, paid=reader.begun)
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
                failure = await self._status_failure(speaker, response)
                if failure.status == 404:
                    failure = await with_nearest(failure, self._line_to("models"), request.model)
                raise AttemptFailed(failure)
            while True:
                patience = min(policy.patience(reader), ends - self._clock.monotonic())
                async with asyncio.timeout(patience):
                    piece = await response.content.readany()
                if not piece:
                    break
                received += len(piece)
                if received > policy.max_bytes:
                    raise AttemptFailed(_endless(speaker, policy.max_bytes))
                for delta in reader.feed(piece):
                    yield delta
            for delta in reader.end():
                yield delta
        finally:
            response.close()

    async def _send(self, request: ModelRequest) -> aiohttp.ClientResponse:
        body = encode_request(request, self._quirks_of(request.model))
        async with asyncio.timeout(self._policy.first_token_seconds):
            return await self._line.post(body)

    async def _status_failure(
        self, speaker: Speaker, response: aiohttp.ClientResponse
    ) -> ProviderFailure:
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

    def _learn(self, request: ModelRequest, failure: ProviderFailure) -> bool:
        """Whether the endpoint named a parameter it refuses, for the first time."""
        quirks = self._quirks_of(request.model)
        more = learned(quirks, failure.status, str(failure.error), tools=bool(request.tools))
        self._quirks[request.model] = more
        return more != quirks


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


def _endless(speaker: Speaker, limit: int) -> ProviderFailure:
    failure = failure_of_protocol(speaker, f"more than {limit} bytes and still no end")
    return msgspec.structs.replace(failure, again=False)


def _shown(api_base: str) -> str:
    return Speaker("", "", api_base).clean(api_base)


def _checked_base(name: str, api_base: str) -> str:
    base = api_base.strip().rstrip("/").removesuffix("/chat/completions")
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        usable = usable and bool(URL(base).host)
    except (ValueError, IndexError):  # the latter for an empty host after a "@"
        usable = False
    if not usable:
        raise ConfigError(
            f"providers.{name}.api_base is {_shown(api_base)!r}, which is no address. "
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
