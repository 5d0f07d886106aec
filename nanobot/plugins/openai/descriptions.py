"""The routes of OpenAI's API, described."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nanobot.plugins.common.http.route_description import (
    BINARY,
    EVENTS,
    JSON,
    TYPED,
    Media,
    RouteDescription,
    json_of,
)
from nanobot.plugins.openai.requests import ChatRequest, EmbeddingRequest, ResponseRequest
from nanobot.plugins.openai.schemas import (
    ChatChunk,
    ChatCompletion,
    EmbeddingList,
    ModelCard,
    ModelList,
    OpenAIError,
    ResponseEvent,
    ResponseObject,
    Transcription,
)


class OpenAIHeaders(msgspec.Struct, frozen=True, kw_only=True):
    """The headers of a chat or a response."""

    session: Annotated[str, Meta(description="The session to say the last message in.")] = (
        msgspec.field(default="", name="X-Session-Key")
    )
    key: Annotated[
        str,
        Meta(
            pattern="^[A-Za-z0-9_-]{0,64}$",
            description="Identifies the run: requests with the same key share one run.",
        ),
    ] = msgspec.field(default="", name="Idempotency-Key")


_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "file": BINARY,
        "model": {"type": "string"},
        "response_format": {"enum": ["json", "text"], "default": "json"},
    },
    "required": ["file"],
}

_ROUTES = (
    RouteDescription(
        method="get",
        path="/v1/models",
        name="v1_models",
        summary="Lists the one model there is, the assistant.",
        answers=json_of(ModelList),
    ),
    RouteDescription(
        method="get",
        path="/v1/models/{id}",
        name="v1_model",
        summary="Shows it.",
        answers=json_of(ModelCard),
        refusals=(404,),
    ),
    RouteDescription(
        method="post",
        path="/v1/chat/completions",
        name="v1_chat_completions",
        summary="Answers a chat, whole or streamed.",
        headers=OpenAIHeaders,
        takes=json_of(ChatRequest),
        answers={JSON: Media(of=ChatCompletion), EVENTS: Media(events=ChatChunk)},
        refusals=(*TYPED, 404, 409, 502),
    ),
    RouteDescription(
        method="post",
        path="/v1/responses",
        name="v1_responses",
        summary="Answers, whole or streamed, behind another response if there was one.",
        headers=OpenAIHeaders,
        takes=json_of(ResponseRequest),
        answers={JSON: Media(of=ResponseObject), EVENTS: Media(events=ResponseEvent)},
        refusals=(*TYPED, 404, 409, 502),
    ),
    RouteDescription(
        method="get",
        path="/v1/responses/{id}",
        name="v1_response",
        summary="Shows a response that was made before.",
        answers=json_of(ResponseObject),
        refusals=(404,),
    ),
    RouteDescription(
        method="post",
        path="/v1/embeddings",
        name="v1_embeddings",
        summary="Makes vectors, where memory.embedding_model is set.",
        takes=json_of(EmbeddingRequest),
        answers=json_of(EmbeddingList),
        refusals=(*TYPED, 502),
    ),
    RouteDescription(
        method="post",
        path="/v1/audio/transcriptions",
        name="v1_audio_transcriptions",
        summary="Writes down a recording, where agent.transcription_model is set.",
        takes={"multipart/form-data": Media(schema=_FORM)},
        answers={JSON: Media(of=Transcription), "text/plain": Media(schema={"type": "string"})},
        refusals=(*TYPED, 502),
    ),
)

DESCRIPTIONS = tuple(msgspec.structs.replace(each, errors=OpenAIError) for each in _ROUTES)
