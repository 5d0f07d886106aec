"""What clients of OpenAI's API get, for the description of the HTTP API. That API has more fields;
these are the ones that are here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from nanobot.plugins.common.http.route_description import ByOtherRules


class OpenAIErrorDetail(ByOtherRules, frozen=True, kw_only=True):
    """What went wrong: `code` and `type` for programs, `message` for people."""

    code: str
    message: str
    type: Literal["invalid_request_error", "server_error"]
    param: str | None


class OpenAIError(ByOtherRules, frozen=True, kw_only=True):
    """A request below /v1 that was refused."""

    error: OpenAIErrorDetail


class ModelCard(ByOtherRules, frozen=True, kw_only=True):
    """The one model there is: the assistant."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelList(ByOtherRules, frozen=True, kw_only=True):
    """All models."""

    object: Literal["list"]
    data: list[ModelCard]


class ChatUsage(ByOtherRules, frozen=True, kw_only=True):
    """Tokens of a run, of all its model calls together."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatMessage(ByOtherRules, frozen=True, kw_only=True):
    """The answer."""

    role: Literal["assistant"]
    content: str
    refusal: str | None = None


class ChatChoice(ByOtherRules, frozen=True, kw_only=True):
    """The one choice there is. `length`: a limit of the gateway ended the run."""

    index: int
    message: ChatMessage
    finish_reason: Literal["stop", "length"]
    logprobs: None = None


class ChatCompletion(ByOtherRules, frozen=True, kw_only=True):
    """A whole chat completion."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: Annotated[list[ChatChoice], Meta(min_length=1, max_length=1)]
    usage: ChatUsage


class ChatDelta(ByOtherRules, frozen=True, kw_only=True):
    """The new part of an answer."""

    role: Literal["assistant"] | None = None
    content: str = ""


class ChunkChoice(ByOtherRules, frozen=True, kw_only=True):
    """The one choice there is, so far."""

    index: int
    delta: ChatDelta
    finish_reason: Literal["stop", "length"] | None
    logprobs: None = None


class ChatChunk(ByOtherRules, frozen=True, kw_only=True):
    """An event of a streamed chat completion; after the last one comes `[DONE]`. With
    `stream_options.include_usage` the last has the usage and no choice."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: ChatUsage | None = None


class OutputText(ByOtherRules, frozen=True, kw_only=True):
    """Text of a response."""

    type: Literal["output_text"]
    text: str
    annotations: list[Any]


class OutputMessage(ByOtherRules, frozen=True, kw_only=True):
    """The message of a response."""

    id: str
    type: Literal["message"]
    status: Literal["in_progress", "completed", "incomplete"]
    role: Literal["assistant"]
    content: list[OutputText]


class ResponseUsage(ByOtherRules, frozen=True, kw_only=True):
    """Tokens of a run, of all its model calls together."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens_details: dict[str, int]


class ResponseObject(ByOtherRules, frozen=True, kw_only=True):
    """A response."""

    id: str
    object: Literal["response"]
    created_at: int
    status: Literal["in_progress", "completed", "incomplete", "failed"]
    error: dict[str, str] | None
    incomplete_details: dict[str, str] | None
    model: str
    output: list[OutputMessage]
    previous_response_id: str | None
    usage: ResponseUsage | None


class ResponseEvent(ByOtherRules, frozen=True, kw_only=True):
    """An event of a streamed response, by that API's names: `response.created`,
    `response.output_text.delta` ... `response.completed`."""

    type: str
    sequence_number: int
    response: ResponseObject | None = None
    delta: str = ""


class Embedding(ByOtherRules, frozen=True, kw_only=True):
    """The vector of one text; with `base64`, of 32-bit floats."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingList(ByOtherRules, frozen=True, kw_only=True):
    """A vector for each text."""

    object: Literal["list"]
    model: str
    data: list[Embedding]
    usage: dict[str, int]


class Transcription(ByOtherRules, frozen=True, kw_only=True):
    """The text of a recording."""

    text: str
