"""A scripted server that speaks Gemini's generateContent API, streamed.

Wire: https://ai.google.dev/api/generate-content (POST models/MODEL:streamGenerateContent?alt=sse).
Each event is a whole GenerateContentResponse; a function call comes in one piece, its arguments as
an object, and may carry a `thoughtSignature` that has to come back with it; the last event has the
finish reason. What is answered is decided as in openai_server: faults, script, directives, echo. A
request that the API refuses is refused here (gemini_rules).
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from tests.doubles.gemini_rules import SIGNATURES, problem_with
from tests.doubles.openai_server import Answer, Body, Fault, OpenAIServer, words_of

SIGNATURE = SIGNATURES[0]
_FINISH = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}


class GeminiServer(OpenAIServer):
    """See the module's docstring."""

    _model = ""

    def routes(self, app: web.Application) -> None:
        app.router.add_post("/v1beta/models/{what}", self._named)
        app.router.add_post("/models/{what}", self._named)
        app.router.add_get("/v1beta/models", self._list_models)
        app.router.add_post("/v1beta/openai/embeddings", self._embed)

    async def _named(self, request: web.Request) -> web.StreamResponse:
        """The model is in the path, not in the body."""
        self._model = request.match_info["what"].partition(":")[0]
        return await self._complete(request)

    async def _list_models(self, request: web.Request) -> web.Response:
        rows = [
            {"name": f"models/{name}", "supportedGenerationMethods": ["generateContent"]}
            for name in self.models
        ]
        return web.json_response({"models": rows})

    def refusal_of(self, body: Body) -> Fault | None:
        why = problem_with(body, self._model)
        return None if why is None else refusal(400, "INVALID_ARGUMENT", why)

    def wants_plain(self, body: Body) -> bool:
        return False

    def conversation(self, body: Body) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        for content in body["contents"]:
            texts = []
            for part in content["parts"]:
                if response := part.get("functionResponse") or part.get("function_response"):
                    given = response["response"]
                    result = given.get("output", given.get("content", given))
                    messages.append({"role": "tool", "content": result})
                elif part.get("text"):
                    texts.append({"type": "text", "text": part["text"]})
            if texts:
                role = "assistant" if content["role"] == "model" else "user"
                messages.append({"role": role, "content": texts})
        return messages

    def frames(self, body: Body, raw: bytes, answer: Answer) -> list[bytes]:
        parts: list[dict[str, Any]] = []
        if answer.reasoning:
            parts.append({"text": answer.reasoning, "thought": True})
        parts += [{"text": piece} for piece in answer.chunks or words_of(answer.text)]
        for name, arguments in answer.tool_calls:
            call = {"name": name, "args": json.loads(arguments)}
            parts.append({"functionCall": call, "thoughtSignature": SIGNATURE})
        finish = _FINISH.get(answer.finish_reason or "", "STOP")
        prompt_tokens = len(raw) // 4
        counts = [
            {"promptTokenCount": prompt_tokens, "totalTokenCount": prompt_tokens},
            {
                "promptTokenCount": prompt_tokens,
                "candidatesTokenCount": 7,
                "totalTokenCount": prompt_tokens + 7,
                "cachedContentTokenCount": 5,
            },
        ]
        frames = [_event([part], None, counts[0]) for part in parts]
        return [*frames, _event([{"text": ""}], finish, counts[1])]


def refusal(status: int, kind: str, message: str, retry_delay: str | None = None) -> Fault:
    """An HTTP error in Google's shape; `kind` is like INVALID_ARGUMENT."""
    error: dict[str, Any] = {"code": status, "message": message, "status": kind}
    if retry_delay is not None:
        info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": retry_delay}
        error["details"] = [info]
    return Fault(status=status, body=json.dumps({"error": error}))


def error_event(status: int, kind: str, message: str) -> Fault:
    """200, and then an error object as the first event."""
    error = {"error": {"code": status, "message": message, "status": kind}}
    return Fault(raw=b"data: " + json.dumps(error).encode() + b"\r\n\r\n")


def _event(parts: list[dict[str, Any]], finish: str | None, usage: dict[str, int]) -> bytes:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    event = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    return b"data: " + json.dumps(event).encode() + b"\r\n\r\n"
