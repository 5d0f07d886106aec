"""/v1: OpenAI's API, over sessions of the assistant."""

from __future__ import annotations

import asyncio
import base64
from array import array
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, TypeAlias

import msgspec
from aiohttp import BodyPartReader, web

from nanobot.config.loader import Config
from nanobot.errors import UnknownId, UsageError
from nanobot.messages import RunEvent
from nanobot.operations.catalogue import off_here
from nanobot.operations.engine import Engine
from nanobot.plugins.common.http.admission import principal_of
from nanobot.plugins.common.http.path_prefix import own_path
from nanobot.plugins.common.http.refusals import refusing
from nanobot.plugins.common.http.requests import allowed, caller_of, sent
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.http.wire import QUIET, Problem, answer
from nanobot.plugins.common.keys.hearing_settings import HearingKeys
from nanobot.plugins.common.models.embedding import Embedder
from nanobot.plugins.common.runs.program_label import said_by_program
from nanobot.plugins.common.runs.run_client import ENDED
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService, result_of
from nanobot.plugins.common.store.runs import StoredRuns
from nanobot.plugins.openai import answers, requests
from nanobot.plugins.openai.answers import ChatChunks, ResponseEvents
from nanobot.plugins.openai.descriptions import DESCRIPTIONS
from nanobot.plugins.openai.event_stream import EventStream
from nanobot.plugins.openai.requests import ChatRequest, EmbeddingRequest, ResponseRequest
from nanobot.store.opening import Store
from nanobot.system import RandomIds
from nanobot.workspace.received import Transcriber

_BODY_LIMIT = 40 * 1024 * 1024
_AUDIO_LIMIT = 25 * 1024 * 1024
_AUDIO_SECONDS = 120.0
_FIELD_LIMIT = 100_000
_MOST_FIELDS = 20
_FAILED = {
    "ModelRateLimited": (429, "model_busy"),
    "ContextOverflow": (400, "context_length_exceeded"),
    "aborted": (400, "aborted"),
}
"""The status by a run's error. Clients retry 409, and 500 and above, automatically."""
_DONE = b"data: [DONE]\n\n"


_Asked: TypeAlias = AsyncGenerator[RunEvent | RunResult, None]


def routes(
    engine: Engine,
    runs: RunService,
    config: Config,
    store: Store,
    embedder: Embedder | None = None,
    transcriber: Transcriber | None = None,
) -> list[Route]:
    """All of it, for owners: programs act as them."""
    api = OpenAIRoutes(engine, runs, config, store, embedder, transcriber)
    handlers = {
        "v1_models": api.models,
        "v1_model": api.model,
        "v1_chat_completions": api.chat,
        "v1_responses": api.respond,
        "v1_response": api.response,
        "v1_embeddings": api.embed,
        "v1_audio_transcriptions": api.transcribe,
    }
    return [
        Route(
            method=described.method.upper(),
            path=described.path,
            handler=refusing(handlers[described.name]),
            whole=True,
            described=described,
        )
        for described in DESCRIPTIONS
    ]


class OpenAIRoutes:
    """The handlers."""

    def __init__(
        self,
        engine: Engine,
        runs: RunService,
        config: Config,
        store: Store,
        embedder: Embedder | None,
        transcriber: Transcriber | None,
    ) -> None:
        self._engine = engine
        self._runs = runs
        self._stored = StoredRuns(store.database, store.writer)
        # Names of tokens whose messages count as an owner's.
        self._trusted = config.of(WebSettings).trusted_programs
        self._hears = bool(config.of(HearingKeys).transcription_model)
        self._embedder = embedder
        self._transcriber = transcriber
        self._ids = RandomIds()

    async def models(self, _: web.Request) -> web.StreamResponse:
        return answer(200, {"object": "list", "data": [_MODEL]})

    async def model(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["id"] != requests.MODEL:
            raise requests.no_model(request.match_info["id"])
        return answer(200, _MODEL)

    # Chats

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = requests.read(ChatRequest, await sent(request, _BODY_LIMIT))
        session, run_id = self._session(request), request.headers.get("Idempotency-Key", "")
        run, now = requests.chat_run(body, session, run_id, self._ids), self._now()
        if not body.stream:
            result = await self._result(self._asked(request, run))
            return answer(200, answers.completion(result, now, body.stops))
        chunks = ChatChunks(run.run_id, now, body.stops, usage=body.with_usage)
        return await self._streamed(request, run, self._chunks(self._asked(request, run), chunks))

    async def _chunks(self, asked: _Asked, chunks: ChatChunks) -> AsyncGenerator[bytes, None]:
        async with aclosing(asked) as items:
            async for item in items:
                if isinstance(item, RunResult):
                    _check(item)
                for chunk in chunks.of(item):
                    yield _data(chunk)
        yield _DONE

    # Responses

    async def respond(self, request: web.Request) -> web.StreamResponse:
        body = requests.read(ResponseRequest, await sent(request, _BODY_LIMIT))
        session = self._session(request)
        if body.previous_response_id:
            before = requests.run_of(body.previous_response_id)
            view = await self._stored.run(before)
            if view is None:
                raise UnknownId(f"there is no response {body.previous_response_id[:80]!r}")
            session = view.session_key
        run_id = request.headers.get("Idempotency-Key", "")
        run, now = requests.response_run(body, session, run_id, self._ids), self._now()
        if body.stream:
            events = ResponseEvents(run.run_id, now, body.previous_response_id)
            return await self._streamed(
                request, run, self._events(self._asked(request, run), events)
            )
        result = await self._result(self._asked(request, run))
        before = body.previous_response_id
        return answer(200, answers.response(run.run_id, now, result.message, result, before))

    async def response(self, request: web.Request) -> web.StreamResponse:
        """An existing response, which may be incomplete."""
        name = request.match_info["id"]
        outcome = await self._runs.outcome(requests.run_of(name))
        if outcome is None:
            raise UnknownId(f"there is no response {name[:80]!r}")
        result = result_of(outcome) if outcome.state in ENDED else None
        text = None if result is None else result.message
        at = outcome.message.sent_at
        return answer(200, answers.response(outcome.run_id, at, text, result))

    async def _events(self, asked: _Asked, events: ResponseEvents) -> AsyncGenerator[bytes, None]:
        async with aclosing(asked) as items:
            async for item in items:
                for event in events.of(item):
                    yield _event(event)

    # Both

    def _asked(self, request: web.Request, run: RunInput) -> _Asked:
        """The run, labelled with the program that requests it."""
        trusted = principal_of(request).name in self._trusted
        return self._runs.stream(run, said_by_program(run, trusted=trusted))

    async def _result(self, asked: _Asked) -> RunResult:
        """The run's result. Raises Problem if there is no answer at all."""
        async with aclosing(asked) as items:
            async for item in items:
                if isinstance(item, RunResult):
                    return _check(item)
        raise Problem(503, "stopping", "nanobot is stopping; the run resumes at the next start.")

    async def _streamed(
        self, request: web.Request, run: RunInput, pieces: AsyncGenerator[bytes, None]
    ) -> web.StreamResponse:
        """Server-sent events. A refusal before the first of them is an ordinary response; a run
        without a named session ends when its client disconnects.
        """
        stream = EventStream(request)
        try:
            problem = await stream.write(pieces)
        except ConnectionError:
            if not run.session_key:
                await self._runs.abort(run.run_id)
            raise
        if problem is not None and not stream.response.prepared:
            raise problem
        if problem is not None:
            await stream.response.write(_data(problem.for_path(own_path(request))))
        return stream.response

    def _session(self, request: web.Request) -> str:
        key = request.headers.get("X-Session-Key", "")
        return allowed(key, caller_of(principal_of(request))) if key else ""

    def _now(self) -> float:
        return self._engine.now()

    # Vectors and recordings

    async def embed(self, request: web.Request) -> web.StreamResponse:
        try:
            body = msgspec.convert(await sent(request), EmbeddingRequest)
        except msgspec.ValidationError as error:
            raise UsageError(requests.field_error(error)) from None
        if self._embedder is None:
            raise UsageError("no model makes vectors here: set memory.embedding_model")
        texts = [body.input] if isinstance(body.input, str) else body.input
        vectors = await self._embedder.embed(texts)
        if body.dimensions not in (None, len(vectors[0])):
            raise UsageError(
                f"dimensions: the model makes {len(vectors[0])}, which is all there is"
            )
        data = [
            {"object": "embedding", "index": index, "embedding": _vector(vector, body)}
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        result = {"object": "list", "model": body.model, "data": data, "usage": usage}
        return answer(200, result)

    async def transcribe(self, request: web.Request) -> web.StreamResponse:
        if self._transcriber is None and self._hears:
            raise UsageError(off_here("Transcribing", "hearing"))
        if self._transcriber is None:
            raise UsageError("no model transcribes here: set agent.transcription_model")
        kind = request.content_type
        if kind != "multipart/form-data":
            raise Problem(415, "unsupported_type", "Send the file as multipart/form-data.")
        form = await _form(request)
        how = form.fields.get("response_format", "json")
        if how not in ("json", "text"):
            raise UsageError("response_format: a recording becomes json or text")
        text = await self._transcriber.transcribe(form.audio, form.name)
        if how == "text":
            return web.Response(text=f"{text}\n", headers=QUIET)
        return answer(200, {"text": text})


_MODEL: Mapping[str, Any] = {
    "id": requests.MODEL,
    "object": "model",
    "created": 0,
    "owned_by": "nanobot",
}


def _check(result: RunResult) -> RunResult:
    """The result. Raises Problem if there is no answer at all. Retries have been made already, so
    clients need not retry.
    """
    why = answers.failed(result)
    if not why:
        return result
    status, code = _FAILED.get(result.error or "", (502, result.error or "failed"))
    raise Problem(status, code, why, {"X-Should-Retry": "false"})


def _data(body: Any) -> bytes:
    return b"data: " + msgspec.json.encode(body) + b"\n\n"


def _event(body: Mapping[str, Any]) -> bytes:
    return b"event: " + str(body["type"]).encode() + b"\n" + _data(body)


def _vector(vector: Any, body: EmbeddingRequest) -> list[float] | str:
    numbers = [float(number) for number in vector]
    if body.encoding_format == "float":
        return numbers
    return base64.b64encode(array("f", numbers).tobytes()).decode()


class _Form(msgspec.Struct):
    """A form with a recording, and the small fields that accompany it."""

    name: str = ""
    audio: bytes = b""
    fields: dict[str, str] = {}


async def _form(request: web.Request) -> _Form:
    """Parse the form. Raises UsageError and Problem."""
    form = _Form()
    try:
        async with asyncio.timeout(_AUDIO_SECONDS):
            async for part in await request.multipart():
                if not isinstance(part, BodyPartReader):
                    continue
                if part.name == "file":
                    form.name = part.filename or "audio"
                    form.audio = await _content(part, _AUDIO_LIMIT)
                elif part.name and len(form.fields) < _MOST_FIELDS:
                    content = await _content(part, _FIELD_LIMIT)
                    form.fields[part.name] = content.decode("utf-8", "replace")
    except TimeoutError:
        raise Problem(408, "too_slow", "The file was not there in time.") from None
    except (ValueError, web.RequestPayloadError, UnicodeError) as error:
        raise UsageError(f"this is not a form: {error}") from None
    if not form.audio:
        raise UsageError("file: it is missing, or empty")
    return form


async def _content(part: BodyPartReader, limit: int) -> bytes:
    content = bytearray()
    while piece := await part.read_chunk():
        content += piece
        if len(content) > limit:
            raise Problem(413, "too_large", f"`{part.name}` has at most {limit:,} bytes.")
    return bytes(content)
