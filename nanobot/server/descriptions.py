"""The routes of the HTTP API that are no operations, described for people and programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.operations.notices import NoticeView
from nanobot.server.chat_requests import ChatRequest, ResponseRequest
from nanobot.server.login import Me
from nanobot.server.mcp_route import JsonRpc
from nanobot.server.openai_routes import EmbeddingRequest
from nanobot.server.openai_schemas import (
    ChatChunk,
    ChatCompletion,
    EmbeddingList,
    ModelCard,
    ModelList,
    ResponseEvent,
    ResponseObject,
    Transcription,
)
from nanobot.server.session_routes import NewMessage, SentFile, Span, TakenMessage, Window
from nanobot.server.stream_schemas import OverviewItem, SessionItem, SocketAnswer, SocketRequest
from nanobot.session.views import SessionPage

_Json: TypeAlias = Mapping[str, Any]

JSON = "application/json"
EVENTS = "text/event-stream"
BYTES = "application/octet-stream"
ALWAYS = (403,)
"""What every route may answer: a request by a foreign name, or of a foreign page."""
_BODY = (400, 408, 413)
_TYPED = (*_BODY, 415)


class Media(msgspec.Struct, frozen=True, kw_only=True):
    """One form of a body: `of` a type that JSON has, or `schema`. `events`: what each event of a
    stream is, of which OpenAPI 3.1 has no word of its own."""

    of: Any = None
    schema: _Json | None = None
    events: Any = None


class RouteDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A route that is no operation. `answers` are the forms of its answer by media type, `takes`
    those of its body; `query` and `headers` structs of what it takes beside; `refusals` the
    statuses of errors, beside those that every route has. `websocket`: what is said each way."""

    method: str
    path: str
    name: str
    summary: str
    answers: Mapping[str, Media] = {}
    status: int = 200
    also: Mapping[int, str] = {}
    takes: Mapping[str, Media] = {}
    query: Any = None
    headers: Any = None
    refusals: tuple[int, ...] = ()
    open: bool = False
    websocket: Mapping[str, Any] = {}

    @property
    def tag(self) -> str:
        """What it belongs to."""
        first, *rest = self.path.strip("/").split("/")
        return rest[0] if first == "api" else first


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """The secret of a link, or a token."""

    secret: str


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """It was done."""

    ok: bool


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """That it lives or can be used, and what the process does of all that a gateway does."""

    status: Literal["ok", "ready"]
    role: str


class Delivered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a delivery."""

    status: Literal["accepted", "known", "ignored", "pong"]


class FileName(msgspec.Struct, frozen=True, kw_only=True):
    """What a file is called."""

    name: Annotated[str, Meta(description="What the file is called.")] = ""


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where to go on."""

    after: Annotated[
        str, Meta(description="The id of the last item that is known; empty: from a snapshot on.")
    ] = ""


class LastEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Where to go on, as browsers say it."""

    last_event_id: Annotated[str, Meta(description="The same as `after`, and before it.")] = (
        msgspec.field(default="", name="Last-Event-ID")
    )


class OpenAIHeaders(msgspec.Struct, frozen=True, kw_only=True):
    """What goes beside a chat or a response."""

    session: Annotated[str, Meta(description="The session to say the last message in.")] = (
        msgspec.field(default="", name="X-Session-Key")
    )
    key: Annotated[
        str,
        Meta(
            pattern="^[A-Za-z0-9_-]{0,64}$",
            description="Names the run: what is asked twice with the same key is one run.",
        ),
    ] = msgspec.field(default="", name="Idempotency-Key")


class JsonRpcError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a message was refused."""

    code: int
    message: str
    data: Any = None


class JsonRpcAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request of the Model Context Protocol, or a notification before it."""

    jsonrpc: Literal["2.0"]
    id: int | str | None = None
    method: str = ""
    params: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: JsonRpcError | None = None


_BINARY: _Json = {"type": "string", "contentMediaType": BYTES}
_FORM: _Json = {
    "type": "object",
    "properties": {
        "file": _BINARY,
        "model": {"type": "string"},
        "response_format": {"enum": ["json", "text"], "default": "json"},
    },
    "required": ["file"],
}


def _json(of: Any) -> Mapping[str, Media]:
    return {JSON: Media(of=of)}


_BROWSERS = (
    RouteDescription(
        method="post",
        path="/api/login",
        name="login",
        summary="Logs a browser in: sets its cookie.",
        takes=_json(Login),
        answers=_json(Done),
        refusals=(*_TYPED, 401, 429, 503),
        open=True,
    ),
    RouteDescription(
        method="get", path="/api/me", name="me", summary="Says who asks.", answers=_json(Me)
    ),
    RouteDescription(
        method="post",
        path="/api/logout",
        name="logout",
        summary="Logs the browser out.",
        answers=_json(Done),
    ),
)

_SESSIONS = (
    RouteDescription(
        method="get",
        path="/api/sessions/{key}/entries",
        name="session_entries",
        summary="Shows entries of a conversation by range.",
        query=Window,
        answers=_json(SessionPage),
        refusals=(400, 404),
    ),
    RouteDescription(
        method="get",
        path="/api/sessions/{key}/notices",
        name="session_notices",
        summary="Shows what was answered beside the log of a conversation: commands, refusals.",
        query=Span,
        answers=_json(list[NoticeView]),
        refusals=(400, 404),
    ),
    RouteDescription(
        method="post",
        path="/api/sessions/{key}/messages",
        name="session_messages",
        summary="Says something in a conversation, once for each client_request_id.",
        takes=_json(NewMessage),
        answers=_json(TakenMessage),
        refusals=(*_TYPED, 404, 409),
    ),
    RouteDescription(
        method="get",
        path="/api/sessions/{key}/events",
        name="session_events",
        summary="Tells what happens in a conversation, from a snapshot or an item on.",
        query=Position,
        headers=LastEvent,
        answers={EVENTS: Media(events=SessionItem)},
        refusals=(404,),
    ),
    RouteDescription(
        method="get",
        path="/api/events",
        name="events",
        summary="Tells what happens in all conversations, without single tokens.",
        query=Position,
        headers=LastEvent,
        answers={EVENTS: Media(events=OverviewItem)},
    ),
    RouteDescription(
        method="get",
        path="/ws",
        name="websocket",
        summary="Does everything over one WebSocket, one JSON object a message.",
        status=101,
        refusals=(426,),
        websocket={
            "request": SocketRequest,
            "answer": SocketAnswer,
            "item": SessionItem,
            "item_of_all": OverviewItem,
        },
    ),
)

_FILES = (
    RouteDescription(
        method="post",
        path="/api/uploads",
        name="uploads",
        summary="Keeps the body as a file that can go with a message.",
        query=FileName,
        takes={BYTES: Media(schema={})},
        answers=_json(SentFile),
        refusals=_BODY,
    ),
    RouteDescription(
        method="get",
        path="/api/blobs/{digest}",
        name="blobs",
        summary="Gives a file by its digest; pictures to be shown, all else to be saved.",
        query=FileName,
        answers={BYTES: Media(schema=_BINARY), "image/*": Media(schema=_BINARY)},
        refusals=(404,),
    ),
)

_OPENAI = (
    RouteDescription(
        method="get",
        path="/v1/models",
        name="v1_models",
        summary="Lists the one model there is, the assistant.",
        answers=_json(ModelList),
    ),
    RouteDescription(
        method="get",
        path="/v1/models/{id}",
        name="v1_model",
        summary="Shows it.",
        answers=_json(ModelCard),
        refusals=(404,),
    ),
    RouteDescription(
        method="post",
        path="/v1/chat/completions",
        name="v1_chat_completions",
        summary="Answers a chat, whole or streamed.",
        headers=OpenAIHeaders,
        takes=_json(ChatRequest),
        answers={JSON: Media(of=ChatCompletion), EVENTS: Media(events=ChatChunk)},
        refusals=(*_TYPED, 404, 409, 502),
    ),
    RouteDescription(
        method="post",
        path="/v1/responses",
        name="v1_responses",
        summary="Answers, whole or streamed, behind another response if there was one.",
        headers=OpenAIHeaders,
        takes=_json(ResponseRequest),
        answers={JSON: Media(of=ResponseObject), EVENTS: Media(events=ResponseEvent)},
        refusals=(*_TYPED, 404, 409, 502),
    ),
    RouteDescription(
        method="post",
        path="/v1/embeddings",
        name="v1_embeddings",
        summary="Makes vectors, where memory.embedding_model is set.",
        takes=_json(EmbeddingRequest),
        answers=_json(EmbeddingList),
        refusals=(*_TYPED, 502),
    ),
    RouteDescription(
        method="post",
        path="/v1/audio/transcriptions",
        name="v1_audio_transcriptions",
        summary="Writes down a recording, where agent.transcription_model is set.",
        takes={"multipart/form-data": Media(schema=_FORM)},
        answers={JSON: Media(of=Transcription), "text/plain": Media(schema={"type": "string"})},
        refusals=(*_TYPED, 502),
    ),
)

_MACHINES = (
    RouteDescription(
        method="post",
        path="/mcp",
        name="mcp",
        summary="Takes a message of the Model Context Protocol (streamable HTTP, no sessions).",
        takes=_json(JsonRpc),
        answers={JSON: Media(of=JsonRpcAnswer), EVENTS: Media(events=JsonRpcAnswer)},
        also={202: "A notification was taken."},
        refusals=(*_TYPED, 404, 406, 501),
    ),
    RouteDescription(
        method="get",
        path="/metrics",
        name="metrics",
        summary="Tells what Prometheus collects, in its text format.",
        answers={"text/plain": Media(schema={"type": "string"})},
    ),
    RouteDescription(
        method="get",
        path="/healthz",
        name="healthz",
        summary="Says that the process lives.",
        answers=_json(Health),
        open=True,
    ),
    RouteDescription(
        method="get",
        path="/readyz",
        name="readyz",
        summary="Says whether everything is up.",
        answers=_json(Health),
        refusals=(503,),
        open=True,
    ),
    RouteDescription(
        method="get",
        path="/openapi.json",
        name="openapi",
        summary="Describes all this.",
        answers={JSON: Media(schema={"type": "object"})},
        refusals=(503,),
        open=True,
    ),
)

HOOKS = RouteDescription(
    method="post",
    path="/hooks/{name}",
    name="hooks",
    summary="Takes a delivery that its sender signed with the secret of the hook.",
    takes={JSON: Media(schema={})},
    answers=_json(Delivered),
    also={202: "It is kept, and survives any crash."},
    refusals=(*_TYPED, 401, 429, 503),
    open=True,
)

DESCRIPTIONS = (*_BROWSERS, *_SESSIONS, *_FILES, *_OPENAI, *_MACHINES)
