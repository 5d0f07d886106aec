"""All providers that are not OpenAI-compatible, through litellm.

litellm is loaded on a thread at the first call, because that takes seconds and a lot of memory,
which only users of such providers should pay.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from nanobot.errors import ModelProtocolError
from nanobot.log_context import sent
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.common.models.litellm_names import NATIVE, litellm_name
from nanobot.plugins.common.models.model_lists import SIMILAR_NAMES, listed_at
from nanobot.plugins.litellm.errors import failure_of
from nanobot.plugins.litellm.loading import errors_of_calls, hang_up, load_litellm
from nanobot.ports import Clock
from nanobot.providers.addresses import VERSION, versioned
from nanobot.providers.base import (
    Completion,
    Delta,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)
from nanobot.providers.model_facts import profile_for
from nanobot.providers.openai_chunk import StreamError
from nanobot.providers.openai_errors import (
    ProviderFailure,
    Speaker,
    failure_of_connection,
    failure_of_protocol,
)
from nanobot.providers.openai_request import Quirks, encode_request, learned
from nanobot.providers.openai_stream import AnswerReader
from nanobot.providers.opening import Opening
from nanobot.providers.retrying import AnswerEnds, AttemptFailed, CallPolicy, with_retries
from nanobot.seam.installed import provided
from nanobot.system import SystemClock

# litellm hides the signatures of thoughts in the ids of calls, and needs them back.
_SIGNING = frozenset({"gemini", "vertex_ai", "vertex_ai_beta"})
_SIMILAR_SECONDS = 3.0
_in_use = 0


class LiteLLMProvider(LLMProvider):
    """An `LLMProvider` for everything litellm supports: with the same retry policy, errors and
    deltas as the others.

    With `name` (as in `[providers.NAME]`) model names have no provider prefix; without it they are
    written like litellm's, "anthropic/claude-sonnet-5-5", and `default_model` replaces an empty
    one. Missing settings (keys, regions) are read by litellm from the environment. Nothing is
    loaded, checked or requested before the first call, which raises ModelMissing if litellm cannot
    be loaded.
    """

    def __init__(  # noqa: PLR0913 - the library's users know these names; all are optional
        self,
        *,
        api_key: str = "",
        default_model: str = "",
        api_base: str | None = None,
        name: str = "",
        clock: Clock | None = None,
        policy: CallPolicy | None = None,
        profiles: Callable[[str, str], ModelProfile] = profile_for,
    ) -> None:
        self.name = name
        self.default_model = default_model
        self.api_base = api_base or ""
        self._api_key = api_key.strip()
        self._clock = clock or SystemClock()
        self._policy = policy or CallPolicy()
        self._profiles = profiles
        self._ends = AnswerEnds()
        self._quirks: dict[str, Quirks] = {}
        self._library: Any = None

    def profile(self, model: str) -> ModelProfile:
        """From the table; without tools after the endpoint said that the model does not support
        them.
        """
        provider, model = self._split(model)
        profile = self._profiles(provider, model)
        if self._quirks_of(model).no_tools:
            return msgspec.structs.replace(profile, tools=False)
        return profile

    def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Deltas, then one Completion; raises the ModelError of the last attempt."""
        provider, model = self._split(request.model)
        request = msgspec.structs.replace(request, model=model)

        def attempt() -> AsyncGenerator[Delta]:
            return self._attempt(provider, request)

        def learn(failure: ProviderFailure) -> bool:
            return self._learn(request, failure)

        return with_retries(attempt, self._policy, self._clock, learn)

    async def embed(self, texts: Sequence[str], model: str = "") -> list[list[float]]:
        """A vector for each text. One attempt; raises ModelError."""
        provider, model = self._split(model)
        library = await self._loaded()
        answer = await self._once(
            provider, model, library.aembedding, input=list(texts), encoding_format="float"
        )
        return [list(row["embedding"]) for row in answer.data]

    async def transcribe(self, audio: bytes, name: str, model: str = "") -> str:
        """The transcript of a recording with this file `name`. One attempt; raises ModelError."""
        provider, model = self._split(model)
        library = await self._loaded()
        file = io.BytesIO(audio)
        file.name = name
        answer = await self._once(provider, model, library.atranscription, file=file)
        return str(answer.text)

    async def speak(self, text: str, voice: str, model: str = "") -> bytes:
        """The text as sound, in that voice. One attempt; raises ModelError."""
        provider, model = self._split(model)
        library = await self._loaded()
        answer = await self._once(
            *(provider, model, library.aspeech),
            input=text,
            voice=voice,
            response_format="opus",
        )
        return bytes(answer.content)

    async def warm_up(self) -> None:
        """Load litellm now. Raises ModelMissing."""
        await self._loaded()

    async def close(self) -> None:
        """Close the connections. litellm shares them, so the last provider to close does it."""
        global _in_use  # noqa: PLW0603 - litellm's connections belong to the process
        library, self._library = self._library, None
        if library is None:
            return
        _in_use -= 1
        if _in_use == 0:
            await hang_up(library)

    # A call

    def _split(self, model: str) -> tuple[str, str]:
        """The provider and its model; the model alone if the provider is fixed."""
        model = model or self.default_model
        if self.name:
            return self.name, model.removeprefix(f"{self.name}/")
        provider, slash, rest = model.partition("/")
        return (provider, rest) if slash else ("openai", model)

    def _address(self, provider: str, model: str) -> dict[str, Any]:
        """The arguments of every kind of call: provider, address, key, and our own timeouts."""
        prefix = litellm_name(provider) or ("openai" if self.api_base else provider)
        return {
            "model": f"{prefix}/{model}",
            "api_key": self._api_key or None,
            "api_base": self._base(provider),
            "timeout": self._policy.call_seconds,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
        }

    def _base(self, provider: str) -> str | None:
        """The base URL in litellm's form: for OpenAI-compatible endpoints with the version."""
        if not self.api_base or provider in NATIVE:
            return self.api_base or None
        row = KNOWN_PROVIDERS.get(provider)
        if row is None or row.client == "lean":
            return versioned(self.api_base)
        if provider == "anthropic":
            return VERSION.sub("", versioned(self.api_base))  # it adds its own
        return versioned(self.api_base, "v1beta", below_paths=True)

    async def _loaded(self) -> Any:
        global _in_use  # noqa: PLW0603 - see close
        if self._library is None:
            library = await asyncio.to_thread(load_litellm)
            if self._library is None:
                self._library = library
                _in_use += 1
        return self._library

    def _speaker(self, provider: str, model: str) -> Speaker:
        return Speaker(provider, model, self.api_base or "its usual address", self._api_key)

    async def _once(
        self, provider: str, model: str, function: Callable[..., Any], **arguments: Any
    ) -> Any:
        try:
            async with asyncio.timeout(self._policy.call_seconds):
                return await function(**self._address(provider, model), **arguments)
        except errors_of_calls() as problem:
            failure = failure_of(self._speaker(provider, model), problem, self._clock.now())
            raise failure.error from problem

    async def _attempt(self, provider: str, request: ModelRequest) -> AsyncGenerator[Delta]:
        speaker = self._speaker(provider, request.model)
        library = await self._loaded()
        reader = AnswerReader()
        shown = False
        try:
            async with aclosing(self._read(library, provider, request, reader)) as deltas:
                async for delta in deltas:
                    shown = shown or isinstance(delta, TextDelta)
                    yield delta
        except StreamError as problem:
            failure = failure_of(speaker, problem, self._clock.now())
            raise AttemptFailed(failure, paid=reader.begun) from problem
        except ModelProtocolError as problem:
            raise AttemptFailed(failure_of_protocol(speaker, str(problem))) from problem
        except _Endless as problem:
            failure = failure_of_protocol(speaker, str(problem))
            raise AttemptFailed(msgspec.structs.replace(failure, again=False)) from problem
        except TimeoutError as problem:
            failure = failure_of_connection(speaker, "no answer in time")
            raise AttemptFailed(failure, paid=reader.begun) from problem
        except errors_of_calls() as problem:
            failure = failure_of(speaker, problem, self._clock.now())
            if failure.status == 404:
                failure = await self._with_nearest(failure, library, provider, request.model)
            raise AttemptFailed(failure, paid=reader.begun) from problem
        if not self._ends.whole(request.model, complete=reader.complete, begun=reader.begun):
            cut = failure_of_connection(speaker, "the answer was cut off half-way")
            raise AttemptFailed(cut, paid=reader.begun)
        completion: Completion = reader.completion()
        if completion.text and not shown:
            yield TextDelta(completion.text)
        yield completion

    async def _with_nearest(
        self, failure: ProviderFailure, library: Any, provider: str, model: str
    ) -> ProviderFailure:
        """The failure, with the most similar model names: from the endpoint's own list if it has
        one in OpenAI's format, otherwise from litellm's table.
        """
        # Needs aiohttp, which litellm has loaded by now, and which other users do not need.
        from nanobot.providers import openai_http  # noqa: PLC0415

        similar = provided(SIMILAR_NAMES)
        if similar is None:
            return failure
        if self.api_base:
            listing = openai_http.EndpointClient(
                versioned(self.api_base),
                {"authorization": f"Bearer {self._api_key}"} if self._api_key else {},
                self._policy.connect_seconds,
            )
            listed = await listed_at(listing, "/models", _SIMILAR_SECONDS)
            named = failure if listed is None else similar(failure, model, listed)
            if named is not failure:
                return named
        prefix = litellm_name(provider) or provider
        names = [n.removeprefix(f"{prefix}/") for n in library.models_by_provider.get(prefix, ())]
        return similar(failure, model, sorted(names), own=False)

    async def _read(
        self, library: Any, provider: str, request: ModelRequest, reader: AnswerReader
    ) -> AsyncGenerator[TextDelta | ReasoningDelta]:
        """The chunks of one answer. They are in OpenAI's format, so the same reader parses them."""
        policy = self._policy
        ends = self._clock.monotonic() + policy.call_seconds
        quirks = self._quirks_of(request.model)
        if provider in _SIGNING:
            quirks = msgspec.structs.replace(quirks, own_ids=True)
        # For other providers litellm removes the marks.
        quirks = msgspec.structs.replace(quirks, anthropic_cache=True)
        effort = self._profiles(provider, request.model).within(request.effort)
        # The thoughts of an answer in an endpoint's own form; litellm has forms of its own.
        said = [msgspec.structs.replace(each, native=None) for each in request.messages]
        request = msgspec.structs.replace(request, effort=effort, messages=tuple(said))
        body = msgspec.json.decode(encode_request(request, quirks))
        body |= self._address(provider, request.model)
        if headers := sent():
            body["extra_headers"] = {**headers}
        received = 0
        async with asyncio.timeout(policy.first_token_seconds):
            stream = await library.acompletion(**body)
        try:
            while True:
                patience = min(policy.patience(reader), ends - self._clock.monotonic())
                async with asyncio.timeout(patience):
                    chunk = await anext(stream, None)
                # litellm invents a finish reason if a stream just ends.
                if chunk is None or (_finished(chunk) and not _has_ended(stream)):
                    break
                data = f"data: {chunk.model_dump_json(exclude_none=True)}\n\n".encode()
                received += len(data)
                if received > policy.max_bytes:
                    raise _Endless(f"more than {policy.max_bytes} bytes and still no end")
                for delta in reader.feed(data):
                    yield delta
        finally:
            await stream.aclose()

    def _quirks_of(self, model: str) -> Quirks:
        return self._quirks.get(model, Quirks())

    def _learn(self, request: ModelRequest, failure: ProviderFailure) -> bool:
        quirks = self._quirks_of(request.model)
        updated = learned(quirks, failure.status, str(failure.error), tools=bool(request.tools))
        self._quirks[request.model] = updated
        return updated != quirks


class _Endless(Exception):
    pass


def open_provider(opening: Opening) -> LiteLLMProvider:
    """The provider of a choice."""
    choice = opening.choice
    return LiteLLMProvider(
        name=choice.provider_name,
        api_key=choice.api_key,
        api_base=choice.api_base,
        clock=opening.clock,
        policy=opening.policy,
        profiles=opening.profiles,
    )


def _finished(chunk: Any) -> bool:
    return any(choice.finish_reason for choice in chunk.choices)


def _has_ended(stream: Any) -> bool:
    """Whether the endpoint itself gave a finish reason."""
    names = ("received_finish_reason", "intermittent_finish_reason")
    flags = [getattr(stream, name) for name in names if hasattr(stream, name)]
    return not flags or any(flags)
