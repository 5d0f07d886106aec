"""The port to language models: what is asked, what streams back, what a model can do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from nanobot.providers.effort import Effort


class ToolCall(msgspec.Struct, frozen=True):
    """A call the model asks for. `arguments` is the model's text as it came: it may be broken JSON.

    `id` is the provider's and is only echoed back; a call's identity is (run, model_call, index).
    """

    id: str
    name: str
    arguments: str


class TextPart(msgspec.Struct, frozen=True, tag="text", tag_field="type"):
    """Text within a message."""

    text: str


class ImagePart(msgspec.Struct, frozen=True, tag="image", tag_field="type"):
    """An image within a message; `data` is base64. With `blob` (a digest) the bytes are still to be
    put in, before a provider is asked."""

    mime: str
    data: str
    blob: str = ""


Part: TypeAlias = TextPart | ImagePart


class NativeAnswer(msgspec.Struct, frozen=True):
    """An answer that holds more than text and calls (signed thoughts, citations): its content as
    JSON in its provider's form. The model that gave it (`label`) wants it back unchanged; no other
    can read it."""

    label: str
    content: str


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a request, provider-neutral. A tool message carries the id it answers; its
    parts may be images, like a user's. Where the model that is asked gave `native`, that is sent
    instead of the rest."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | tuple[Part, ...] = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    native: NativeAnswer | None = None


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


_MOST_TOKENS = 2_000_000_000


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one call. Of `prompt_tokens`, the provider had `cached_tokens` in its cache and put
    `cache_write_tokens` into it."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0

    def clamped(self) -> Usage:
        """The same without the absurd: each at least 0, at most what the store can hold, and no
        more of the prompt cached than there is of it."""
        return self.within(_MOST_TOKENS)

    def within(self, most: int) -> Usage:
        """The same with each number from 0 to `most`, and the parts of the prompt no larger than
        it."""
        prompt = min(max(self.prompt_tokens, 0), most)
        cached = min(max(self.cached_tokens, 0), prompt)
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=min(max(self.completion_tokens, 0), most),
            cached_tokens=cached,
            cache_write_tokens=min(max(self.cache_write_tokens, 0), prompt - cached),
        )


class Price(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """US dollars for a token; `cached` for one of the prompt that the provider had in its cache,
    `cache_write` for one that it put there."""

    prompt: float
    completion: float
    cached: float | None = None
    cache_write: float | None = None

    @property
    def prompt_at_most(self) -> float:
        """What a token of the prompt may cost."""
        return max(self.prompt, self.cache_write or 0.0)

    def at_most(self, prompt: int, completion: int) -> float:
        """What so many tokens of a prompt and of an answer may cost, in dollars."""
        return prompt * self.prompt_at_most + completion * self.completion

    def of(self, usage: Usage) -> float:
        """What a call cost, in dollars."""
        fresh = usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens
        cached = self.prompt if self.cached is None else self.cached
        written = self.prompt if self.cache_write is None else self.cache_write
        return (
            fresh * self.prompt
            + usage.cached_tokens * cached
            + usage.cache_write_tokens * written
            + usage.completion_tokens * self.completion
        )


class ModelProfile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model can do, as data. `name` is what the provider is asked for; `price` None: nobody
    told it. `one_at_a_time`: it answers one message only, so that messages which come meanwhile
    wait for the next run instead of joining this one. `sampling`: it
    takes a temperature. `always_thinks`: it cannot be told not to."""

    name: str
    provider: str
    context_tokens: int = 128_000
    tools: bool = True
    images: bool = False
    helper_calls: bool = True
    short_prompt: bool = False
    one_at_a_time: bool = False
    sampling: bool = True
    always_thinks: bool = False
    price: Price | None = None

    @property
    def label(self) -> str:
        """How people write it: provider/model."""
        return f"{self.provider}/{self.name}"


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `tools` is empty for models that take none; for `effort` see effort.py."""

    model: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float = 0.7
    max_tokens: int = 4096
    effort: Effort = "default"


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the answer."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """A piece of the model's reasoning, for watchers."""

    text: str


class Retrying(msgspec.Struct, frozen=True):
    """The call failed and starts again in `delay` seconds: earlier deltas of it are void."""

    delay: float
    why: str


FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer; always the last thing of a stream, exactly once."""

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage | None = None
    native: NativeAnswer | None = None


Delta: TypeAlias = TextDelta | ReasoningDelta | Retrying | Completion


class LLMProvider(Protocol):
    """A way to reach models.

    `chat_stream` yields deltas and ends with exactly one Completion, or raises a ModelError;
    it retries what is worth retrying itself (yielding Retrying) and obeys cancellation at once.
    An answer that came in the reasoning field only is returned as text. Calls without an id get
    one. `close` ends connections and child processes; after it no call may be made. A class that
    names this one as its base has `chat`.
    """

    def profile(self, model: str) -> ModelProfile:
        """What the model can do; never a network call."""
        ...

    def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Start a call."""
        ...

    async def chat(self, request: ModelRequest) -> Completion:
        """The whole answer of one call, for callers that show no stream."""
        answer: Completion | None = None
        async for delta in self.chat_stream(request):
            if isinstance(delta, Completion):
                answer = delta
        if answer is None:
            raise AssertionError("a provider's stream ended without its Completion")
        return answer

    async def close(self) -> None:
        """Release what is held."""
        ...


@runtime_checkable
class WarmingUp(Protocol):
    """A provider whose first answer would have to wait for something."""

    async def warm_up(self) -> None:
        """Have it ready now. Raises ModelError."""
        ...


@runtime_checkable
class AudioAndEmbeddings(Protocol):
    """A provider that also transcribes, speaks and makes vectors."""

    async def speak(self, text: str, voice: str, model: str) -> bytes:
        """The text as a recording. Raises ModelError."""
        ...

    async def transcribe(self, audio: bytes, name: str, model: str) -> str:
        """What is said in a recording; `name` is its file name. Raises ModelError."""
        ...

    async def embed(self, texts: Sequence[str], model: str) -> list[list[float]]:
        """A vector for each text, in their order. Raises ModelError."""
        ...


@runtime_checkable
class ChecksModels(Protocol):
    """A place of models that knows which there are."""

    async def check(self, label: str) -> None:
        """Raises ConfigError or UsageError, with the nearest names, for a label that nobody knows,
        or of which nobody can tell."""
        ...


class Models(Protocol):
    """Where whoever calls a model finds it."""

    async def pick(self, label: str | None) -> tuple[LLMProvider, ModelProfile]:
        """The model of that label, or the configured one. Raises ModelError or ConfigError."""
        ...
