"""The base of providers whose endpoint streams its answers over HTTP, in any format."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import Protocol, Self
from urllib.parse import urlsplit

import aiohttp
import msgspec
from yarl import URL

from nanobot.errors import ConfigError, ModelProtocolError
from nanobot.ports import Clock
from nanobot.providers.base import (
    ChatMessage,
    Completion,
    Delta,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)
from nanobot.providers.model_facts import SIMILAR_MODELS, profile_for
from nanobot.providers.openai_chunk import StreamError
from nanobot.providers.openai_errors import (
    ProviderFailure,
    Speaker,
    failure_in_stream,
    failure_of_connection,
    failure_of_protocol,
    failure_of_status,
)
from nanobot.providers.openai_http import EndpointClient, failure_of_line
from nanobot.providers.openai_request import Quirks, learned
from nanobot.providers.opening import Opening
from nanobot.providers.retrying import AnswerEnds, AttemptFailed, CallPolicy, with_retries
from nanobot.seam.installed import provided

_MAX_ERROR_BODY = 65_536


class AnswerParser(Protocol):
    """Parses the body of one answer, in whatever pieces its bytes arrive.

    `feed` takes bytes as they arrive and returns the new deltas; `end` parses the rest. `done`: the
    server finished. `begun`: part of an answer has arrived. `complete`: there is enough for a
    Completion, even if the connection breaks now. Raises StreamError for an error object, and
    ModelProtocolError for anything that is neither an answer nor an error.
    """

    done: bool
    begun: bool

    @property
    def complete(self) -> bool:
        """Whether the answer is complete."""

    def feed(self, data: bytes) -> list[TextDelta | ReasoningDelta]:
        """Parse more bytes."""

    def end(self) -> list[TextDelta | ReasoningDelta]:
        """The body has ended."""

    def completion(self) -> Completion:
        """The answer. Only after `complete`."""


class HttpProvider(LLMProvider):
    """An `LLMProvider` for one endpoint.

    Retried, with a `Retrying` before each wait: no connection, 408, 409, 425, 429, 5xx, silence, an
    interrupted stream, an error object in a stream, an unreadable answer. Waits start at 0.5 s and
    double up to 16 s, or follow `retry-after`; if that is more than 60 s, ModelRateLimited is
    raised at once. Cancelling closes the connection. Proxies and certificates come from the
    environment; proxies are never used for loopback addresses. Raises ConfigError for an invalid
    `api_base` or `api_key`.
    """

    listing = "/models"
    """The path of the endpoint's list of models, under the base URL."""

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
        self.api_base = self._checked_base(api_base)
        self._api_key = _checked_key(name, api_key)
        self._clock = clock
        self._profiles = profiles
        self._policy = policy or CallPolicy()
        self._line = self.client("text/event-stream")
        self._ends = AnswerEnds()
        self._quirks: dict[str, Quirks] = {}
        self._first_quirks = Quirks()

    @classmethod
    def opened(cls, opening: Opening) -> Self:
        """The provider of a choice. Raises ConfigError."""
        choice = opening.choice
        return cls(
            choice.provider_name,
            choice.api_base,
            choice.api_key,
            clock=opening.clock,
            policy=opening.policy,
            profiles=opening.profiles,
        )

    # Specific to each API

    @abstractmethod
    def _checked_base(self, api_base: str) -> str:
        """The base URL, to which paths are appended. Raises ConfigError for an invalid one."""

    @abstractmethod
    def _headers(self) -> dict[str, str]:
        """The headers of every request, including the key."""

    @abstractmethod
    def _path(self, model: str) -> str:
        """The path of a model's endpoint, under the base URL."""

    @abstractmethod
    def _encode(self, request: ModelRequest, quirks: Quirks) -> bytes:
        """The encoded request."""

    @abstractmethod
    def _parser(self, label: str) -> AnswerParser:
        """A parser for an answer of the model with that label."""

    # Common to all APIs

    def profile(self, model: str) -> ModelProfile:
        """From the table; without tools after the endpoint said that the model does not support
        them.
        """
        profile = self._profiles(self.name, model)
        if self._quirks_of(model).no_tools:
            return msgspec.structs.replace(profile, tools=False)
        return profile

    def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:

        def attempt() -> AsyncGenerator[Delta]:
            return self._attempt(request)

        def learn(failure: ProviderFailure) -> bool:
            return self._learn(request, failure)

        return with_retries(attempt, self._policy, self._clock, learn)

    async def close(self) -> None:
        await self._line.close()

    def client(self, accept: str) -> EndpointClient:
        """A client of the endpoint, for answers of that type."""
        headers = {
            "content-type": "application/json",
            "accept": accept,
            "accept-encoding": "identity",
            "user-agent": "nanobot",
            **self._headers(),
        }
        return EndpointClient(self.api_base, headers, self._policy.connect_seconds)

    def _speaker(self, model: str) -> Speaker:
        return Speaker(self.name, model, self.api_base, self._api_key)

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[Delta]:
        speaker = self._speaker(request.model)
        parser = self._parser(f"{self.name}/{request.model}")
        shown = False
        try:
            async with aclosing(self._read(request, parser, speaker)) as deltas:
                async for delta in deltas:
                    shown = shown or isinstance(delta, TextDelta)
                    yield delta
        except (aiohttp.ClientError, OSError) as problem:
            if not parser.complete:
                lost = failure_of_line(speaker, problem)
                raise AttemptFailed(lost, paid=parser.begun) from problem
        except StreamError as problem:
            failure = failure_in_stream(speaker, problem.body)
            raise AttemptFailed(failure, paid=parser.begun) from problem
        except ModelProtocolError as problem:
            raise AttemptFailed(failure_of_protocol(speaker, str(problem))) from problem
        if not self._ends.whole(request.model, complete=parser.complete, begun=parser.begun):
            cut = failure_of_connection(speaker, "the answer was cut off half-way")
            raise AttemptFailed(cut, paid=parser.begun)
        completion = parser.completion()
        if completion.text and not shown:
            yield TextDelta(completion.text)
        yield completion

    async def _read(
        self, request: ModelRequest, parser: AnswerParser, speaker: Speaker
    ) -> AsyncGenerator[TextDelta | ReasoningDelta]:
        policy = self._policy
        ends = self._clock.monotonic() + policy.call_seconds
        received = 0
        response = await self._send(request)
        try:
            if not 200 <= response.status <= 299:
                failure = await self._status_failure(speaker, response)
                similar = provided(SIMILAR_MODELS)
                if failure.status == 404 and similar is not None:
                    failure = await similar(failure, request.model, self)
                raise AttemptFailed(failure)
            while True:
                patience = min(policy.patience(parser), ends - self._clock.monotonic())
                async with asyncio.timeout(patience):
                    piece = await response.content.readany()
                if not piece:
                    break
                received += len(piece)
                if received > policy.max_bytes:
                    raise AttemptFailed(_endless(speaker, policy.max_bytes))
                for delta in parser.feed(piece):
                    yield delta
            for delta in parser.end():
                yield delta
        finally:
            response.close()

    async def _send(self, request: ModelRequest) -> aiohttp.ClientResponse:
        label = f"{self.name}/{request.model}"
        messages = request.messages
        if [message for message in messages if message.native is not None]:
            messages = tuple([_without_foreign(message, label) for message in messages])
        effort = self.profile(request.model).within(request.effort)
        request = msgspec.structs.replace(request, messages=messages, effort=effort)
        body = self._encode(request, self._quirks_of(request.model))
        async with asyncio.timeout(self._policy.first_token_seconds):
            return await self._line.post(body, self._path(request.model))

    async def _status_failure(
        self, speaker: Speaker, response: aiohttp.ClientResponse
    ) -> ProviderFailure:
        body = b""
        with suppress(aiohttp.ClientError, OSError):  # the status is sufficient
            async with asyncio.timeout(self._policy.stall_seconds):
                while len(body) <= _MAX_ERROR_BODY and (piece := await response.content.readany()):
                    body += piece
        return failure_of_status(
            speaker, response.status, response.headers, body, self._clock.now()
        )

    def _quirks_of(self, model: str) -> Quirks:
        return self._quirks.get(model, self._first_quirks)

    def _learn(self, request: ModelRequest, failure: ProviderFailure) -> bool:
        """Whether the endpoint named, for the first time, a parameter that it rejects."""
        quirks = self._quirks_of(request.model)
        more = learned(quirks, failure.status, str(failure.error), tools=bool(request.tools))
        self._quirks[request.model] = more
        return more != quirks


def checked_address(name: str, api_base: str) -> str:
    """The base URL of provider `name`. Raises ConfigError for an invalid one."""
    try:
        parts = urlsplit(api_base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        usable = usable and bool(URL(api_base).host)
    except (ValueError, IndexError):  # the latter for an empty host after a "@"
        usable = False
    if not usable:
        shown = Speaker(name, "", api_base).clean(api_base)
        raise ConfigError(
            f"providers.{name}.api_base is {shown!r}, which is not an address. "
            "Write it like https://api.example.com/v1."
        )
    return api_base


def _without_foreign(message: ChatMessage, label: str) -> ChatMessage:
    """The message, without the native form of another model's answer."""
    if message.native is None or message.native.label == label:
        return message
    return msgspec.structs.replace(message, native=None)


def _endless(speaker: Speaker, limit: int) -> ProviderFailure:
    failure = failure_of_protocol(speaker, f"more than {limit} bytes and still no end")
    return msgspec.structs.replace(failure, again=False)


def _checked_key(name: str, api_key: str) -> str:
    key = api_key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"providers.{name}.api_key holds characters that no key has. Paste it again."
        )
    return key
