"""A scripted server that speaks Anthropic's Messages API, streamed.

Wire: https://docs.anthropic.com/en/api/messages-streaming. An answer is message_start, one
content block after the other (thinking, text, tool_use), message_delta with the stop reason and
the usage, message_stop; a `ping` may come anywhere, an `error` event ends the stream.
What is answered is decided as in openai_server: faults, script, directives, echo.
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from tests.doubles.openai_server import Answer, Body, Fault, OpenAIServer, words_of

_STOP = {None: "end_turn", "length": "max_tokens", "content_filter": "refusal"}


class AnthropicServer(OpenAIServer):
    """See the module's docstring."""

    def routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/messages", self._complete)

    def conversation(self, body: Body) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            results = [block["content"] for block in blocks if block["type"] == "tool_result"]
            messages += [{"role": "tool", "content": result} for result in results]
            texts = [block for block in blocks if block["type"] == "text"]
            if texts:
                messages.append({"role": message["role"], "content": texts})
        return messages

    def frames(self, body: Body, raw: bytes, answer: Answer) -> list[bytes]:
        usage = {
            "input_tokens": len(raw) // 4,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 5,
            "output_tokens": 1,
        }
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
        for index, (block, deltas) in enumerate(_blocks(answer)):
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


def _blocks(answer: Answer) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if answer.reasoning:
        thought = {"type": "thinking_delta", "thinking": answer.reasoning}
        signed = {"type": "signature_delta", "signature": "c2lnbmVk"}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [thought, signed]))
    if answer.text or answer.chunks:
        pieces = answer.chunks or words_of(answer.text)
        texts = [{"type": "text_delta", "text": piece} for piece in pieces]
        blocks.append(({"type": "text", "text": ""}, texts))
    for index, (name, arguments) in enumerate(answer.tool_calls):
        block = {"type": "tool_use", "id": f"toolu_s{index}", "name": name, "input": {}}
        half = len(arguments) // 2
        pieces = ("", arguments[:half], arguments[half:])
        parts = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        blocks.append((block, parts))
    return blocks


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()
