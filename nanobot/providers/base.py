"""The port to language models: requests, streamed responses, and models' capabilities."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

Effort: TypeAlias = Literal["default", "none", "low", "medium", "high"]
"""How long a model thinks before it answers; each client translates it for its API. `default` sends
nothing, so the provider chooses. `none` disables thinking."""


class ToolCall(msgspec.Struct, frozen=True):
    """A call requested by the model. `arguments` is the model's unchanged text, which may be
    invalid JSON.

    `id` is the provider's and only echoed back; a call is identified by (run, model_call, index).
    """

    id: str
    name: str
    arguments: str


class TextPart(msgspec.Struct, frozen=True, tag="text", tag_field="type"):
    """Text in a message."""

    text: str


class ImagePart(msgspec.Struct, frozen=True, tag="image", tag_field="type"):
    """An image in a message; `data` is base64. If `blob` (a digest) is set, the bytes are filled in
    before a provider is called.
    """

    mime: str
    data: str
    blob: str = ""


Part: TypeAlias = TextPart | ImagePart


class NativeAnswer(msgspec.Struct, frozen=True):
    """An answer with more than text and calls (signed thoughts, citations): its content as JSON in
    the provider's format. The model that gave it (`label`) needs it back unchanged; no other model
    can read it.
    """

    label: str
    content: str


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a request, provider-neutral. A tool message has the id of the call it answers;
    like a user's message, it may contain images. If `native` came from the model being called, it
    is sent instead of the rest.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str | tuple[Part, ...] = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    native: NativeAnswer | None = None


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as shown to the model; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


_MOST_TOKENS = 2_000_000_000


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one call. Of `prompt_tokens`, `cached_tokens` were read from the provider's cache
    and `cache_write_tokens` were written to it.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0

    def clamped(self) -> Usage:
        """The same with sane numbers: each at least 0, small enough for the store, and no more
        cached tokens than prompt tokens.
        """
        return self.within(_MOST_TOKENS)

    def within(self, most: int) -> Usage:
        """The same with each number limited to 0 to `most`, and the parts of the prompt no larger
        than the prompt.
        """
        prompt = min(max(self.prompt_tokens, 0), most)
        cached = min(max(self.cached_tokens, 0), prompt)
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=min(max(self.completion_tokens, 0), most),
            cached_tokens=cached,
            cache_write_tokens=min(max(self.cache_write_tokens, 0), prompt - cached),
        )


class Price(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """US dollars per token; `cached` for a prompt token read from the provider's cache,
    `cache_write` for one written to it.
    """

    prompt: float
    completion: float
    cached: float | None = None
    cache_write: float | None = None

    def of(self, usage: Usage) -> float:
        """The cost of a call, in dollars."""
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
    """A model's capabilities, as data."""

    name: str
    """The name sent to the provider."""
    provider: str
    context_tokens: int = 128_000
    tools: bool = True
    images: bool = False
    helper_calls: bool = True
    short_prompt: bool = False
    one_at_a_time: bool = False
    """It answers only one message per run, so that messages that arrive in the meantime wait for
    the next run instead of joining this one."""
    sampling: bool = True
    """It accepts a temperature."""
    always_thinks: bool = False
    """Its thinking cannot be turned off."""
    price: Price | None = None
    """None: unknown."""

    def within(self, effort: Effort) -> Effort:
        """The effort that it accepts. A model that always thinks would reject `none`, and without a
        value it would think as much as it likes."""
        return "low" if effort == "none" and self.always_thinks else effort

    @property
    def label(self) -> str:
        """The form that people write: provider/model."""
        return f"{self.provider}/{self.name}"


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One model call. `tools` is empty for models that take none."""

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
    """A piece of the model's reasoning, for display."""

    text: str


class Retrying(msgspec.Struct, frozen=True):
    """The call failed and is retried in `delay` seconds: its earlier deltas are void."""

    delay: float
    why: str


FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer; the last item of a stream, exactly once."""

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage | None = None
    native: NativeAnswer | None = None


Delta: TypeAlias = TextDelta | ReasoningDelta | Retrying | Completion


class LLMProvider(Protocol):
    """Provides access to models.

    `chat_stream` yields deltas and ends with exactly one Completion, or raises a ModelError. It
    retries by itself if that may help (yielding Retrying) and reacts to cancellation at once. An
    answer that is only in the reasoning field is returned as text. Calls without an id get one.
    `close` ends connections and child processes; no call may follow it. A subclass of this class
    inherits `chat`.
    """

    def profile(self, model: str) -> ModelProfile:
        """The model's capabilities; never makes a network call."""

    def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Start a call."""

    async def chat(self, request: ModelRequest) -> Completion:
        """The whole answer of one call, for callers that do not stream."""
        answer: Completion | None = None
        async for delta in self.chat_stream(request):
            if isinstance(delta, Completion):
                answer = delta
        if answer is None:
            raise AssertionError("a provider's stream ended without its Completion")
        return answer

    async def close(self) -> None:
        """Release all resources."""


class Models(Protocol):
    """Gives callers access to models."""

    async def pick(self, label: str | None) -> tuple[LLMProvider, ModelProfile]:
        """The model with that label, or the configured one. Raises ModelError or ConfigError."""
