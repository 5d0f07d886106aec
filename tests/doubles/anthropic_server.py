"""A scripted server that speaks Anthropic's Messages API, streamed.

Wire: https://docs.anthropic.com/en/api/messages-streaming. An answer is message_start, one
content block after the other (thinking, text, tool_use), message_delta with the stop reason and
the usage, message_stop; a `ping` may come anywhere, an `error` event ends the stream.
What is answered is decided as in openai_server: faults, script, directives, echo. A request that
the API refuses is refused here (anthropic_rules), and its cache is counted.
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from tests.doubles.anthropic_rules import SIGNATURE, PromptCache, missing_thoughts, problem_with
from tests.doubles.openai_server import Answer, Body, Fault, OpenAIServer, Script, words_of

_STOP = {None: "end_turn", "length": "max_tokens", "content_filter": "refusal"}


class AnthropicServer(OpenAIServer):
    """See the module's docstring. `citations` are attached to each text."""

    def __init__(
        self, script: Script | None = None, *, latency: float = 0.0, port: int = 0
    ) -> None:
        super().__init__(script, latency=latency, port=port)
        self.citations: list[dict[str, Any]] = []
        self.usages: list[dict[str, int]] = []
        self._cache = PromptCache()
        self._given: list[list[dict[str, Any]]] = []

    def routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/messages", self._complete)
        app.router.add_get("/v1/models", self._list)

    def refusal_of(self, body: Body) -> Fault | None:
        why = problem_with(body) or missing_thoughts(body, self._given)
        return None if why is None else refusal(400, "invalid_request_error", why)

    def conversation(self, body: Body) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            results = [b.get("content", "") for b in blocks if b["type"] == "tool_result"]
            messages += [{"role": "tool", "content": result} for result in results]
            texts = [block for block in blocks if block["type"] == "text"]
            if texts:
                messages.append({"role": message["role"], "content": texts})
        return messages

    def frames(self, body: Body, raw: bytes, answer: Answer) -> list[bytes]:
        counted = self._cache.usage(body)
        self.usages.append(counted)
        usage = {**counted, "output_tokens": 1}
        message: dict[str, Any] = {
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        frames = [_event("message_start", message=message), _event("ping")]
        blocks = _blocks(answer, len(self.usages), self.citations)
        self._given.append([_finished(block, deltas) for block, deltas in blocks])
        for index, (block, deltas) in enumerate(blocks):
            frames.append(_event("content_block_start", index=index, content_block=block))
            frames += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
            frames.append(_event("content_block_stop", index=index))
        reason = "tool_use" if answer.tool_calls else _STOP[answer.finish_reason]
        frames.append(
            _event(
                "message_delta",
                delta={"stop_reason": reason, "stop_sequence": None},
                usage={"output_tokens": 7},
            )
        )
        return [*frames, _event("message_stop")]


def refusal(status: int, kind: str, message: str, **headers: str) -> Fault:
    """An HTTP error in Anthropic's shape; `kind` is like authentication_error."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error = {"type": "error", "error": {"type": kind, "message": message}}
    return Fault(status=status, body=json.dumps(error), headers=named)


def error_event(kind: str, message: str) -> Fault:
    """200, and then an error event."""
    return Fault(raw=_event("error", error={"type": kind, "message": message}))


def _finished(block: dict[str, Any], deltas: list[dict[str, Any]]) -> dict[str, Any]:
    """A block as it is once all its pieces came."""
    whole: dict[str, Any] = dict(block)
    for delta in deltas:
        for name in ("thinking", "signature"):
            if name in delta:
                whole[name] += delta[name]
    return whole


def _blocks(
    answer: Answer, number: int, citations: list[dict[str, Any]]
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if answer.reasoning:
        thought = {"type": "thinking_delta", "thinking": answer.reasoning}
        signed = {"type": "signature_delta", "signature": SIGNATURE}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [thought, signed]))
    if answer.text or answer.chunks:
        pieces = answer.chunks or words_of(answer.text)
        texts: list[dict[str, Any]] = [{"type": "text_delta", "text": piece} for piece in pieces]
        texts += [{"type": "citations_delta", "citation": citation} for citation in citations]
        blocks.append(({"type": "text", "text": ""}, texts))
    for index, (name, arguments) in enumerate(answer.tool_calls):
        block = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": {}}
        half = len(arguments) // 2
        pieces = ("", arguments[:half], arguments[half:])
        parts = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        blocks.append((block, parts))
    return blocks


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()
