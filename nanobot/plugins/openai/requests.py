"""Converts requests of OpenAI's API to runs. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from nanobot.errors import UnknownId, UsageError
from nanobot.operations.parameters import LARGEST
from nanobot.plugins.common.http.wire import Problem
from nanobot.plugins.common.runs.run_input import RunInput
from nanobot.ports import Ids

MODEL = "nanobot"
"""The only model of that API: the assistant, whichever model it calls."""

_INSTRUCTIONS = ("system", "developer")
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RESPONSE = "resp_"
_MOST_STOPS = 16
_MOST_TEXTS = 256


class StreamOptions(msgspec.Struct, frozen=True):
    """How a stream is to be."""

    include_usage: bool | None = None


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """POST /v1/chat/completions. What is not here (temperature ...) is the gateway's to say."""

    messages: list[dict[str, Any]]
    model: str = MODEL
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    tool_choice: Any = None
    n: int | None = None
    stop: str | Annotated[list[str], Meta(max_length=_MOST_STOPS)] | None = None
    response_format: dict[str, Any] | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        """Before what the answer ends."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return tuple(filter(None, stops))

    @property
    def with_usage(self) -> bool:
        """Whether the last chunk tells the usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)


class EmbeddingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """POST /v1/embeddings."""

    input: str | Annotated[list[str], Meta(min_length=1, max_length=_MOST_TEXTS)]
    model: str = ""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Meta(ge=1, le=LARGEST)] | None = None


class ResponseRequest(msgspec.Struct, frozen=True, kw_only=True):
    """POST /v1/responses."""

    input: str | list[dict[str, Any]]
    model: str = MODEL
    instructions: str | None = None
    previous_response_id: str | None = None
    stream: bool | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    text: dict[str, Any] | None = None
    conversation: Any = None
    prompt: Any = None


def read(kind: type[Any], body: Mapping[str, Any]) -> Any:
    """Parse the body as that kind of request. Raises UsageError, and Problem for another model."""
    try:
        request = msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        raise UsageError(field_error(error)) from None
    tools = request.tools or getattr(request, "functions", None)
    if tools and request.tool_choice != "none":
        raise UsageError("tools: the assistant has its own; leave yours out")
    if getattr(request, "n", None) not in (None, 1):
        raise UsageError("n: there is one answer")
    _check_format("response_format", getattr(request, "response_format", None))
    _check_format("text", (getattr(request, "text", None) or {}).get("format"))
    if getattr(request, "conversation", None) is not None:
        raise UsageError(
            "conversation: not supported. Continue with previous_response_id, or set X-Session-Key"
        )
    if getattr(request, "prompt", None) is not None:
        raise UsageError("prompt: no prompts are stored here; write it as instructions")
    if request.model != MODEL:
        raise no_model(request.model)
    return request


def no_model(name: str) -> Problem:
    """The error for an unknown model."""
    text = f"there is no model {name[:80]!r}; there is {MODEL!r}"
    return Problem(404, "model_not_found", text)


def field_error(error: msgspec.ValidationError) -> str:
    """The problem, after the name of the field."""
    what, _, path = str(error).partition(" - at `$.")
    field = re.split(r"[.\[`]", path)[0]
    return f"{field}: {what}" if field else what


def _check_format(name: str, form: Any) -> None:
    """Raises UsageError for a response format that cannot be guaranteed."""
    if form is not None and (not isinstance(form, dict) or form.get("type", "text") != "text"):
        raise UsageError(f"{name}: answers are text; ask for JSON in the message")


def chat_run(request: ChatRequest, session: str, run_id: str, ids: Ids) -> RunInput:
    """The run for a chat: in a session only the last message, otherwise a session made from all
    messages. Raises UsageError.
    """
    messages, instructions = _parted(request.messages)
    return RunInput(
        messages=messages[-1:] if session else messages,
        session_key=session,
        run_id=_named(run_id, ids),
        runtime_hints=instructions,
    )


def response_run(request: ResponseRequest, session: str, run_id: str, ids: Ids) -> RunInput:
    """The run for a response, in the session of the previous one if there is one. Raises
    UsageError.
    """
    items = request.input
    messages = [{"role": "user", "content": items}] if isinstance(items, str) else items
    if not messages:
        raise UsageError("input: must not be empty")
    # The thoughts of another model, which clients send back with its answer.
    said = [item for item in messages if item.get("type") != "reasoning"]
    spoken, instructions = _parted([_as_chat(item) for item in said])
    if request.instructions:
        instructions = {"instructions": request.instructions}
    return RunInput(
        messages=spoken[-1:] if session else spoken,
        session_key=session,
        run_id=_named(run_id, ids),
        runtime_hints=instructions,
    )


def response_id(run_id: str) -> str:
    """The id of a run's response."""
    return f"{_RESPONSE}{run_id}"


def run_of(response: str) -> str:
    """The run of a response's id. Raises UnknownId."""
    if not response.startswith(_RESPONSE):
        raise UnknownId(f"there is no response {response[:80]!r}")
    return response.removeprefix(_RESPONSE)


def _named(run_id: str, ids: Ids) -> str:
    if run_id and not _RUN_ID.fullmatch(run_id):
        raise UsageError("Idempotency-Key: 1 to 64 letters, digits, - and _")
    return run_id or ids.run_id()


def _parted(
    messages: Sequence[Mapping[str, Any]],
) -> tuple[list[Mapping[str, object]], Mapping[str, str]]:
    """The last message, and the preceding instructions and messages."""
    spoken: list[Mapping[str, object]] = []
    instructions: list[str] = []
    for message in messages:
        content = message.get("content")
        if message.get("role") in _INSTRUCTIONS:
            instructions.append(_text(content))
        elif message.get("role") == "assistant":
            spoken.append({"role": "assistant", "content": _text(content)})
        else:
            spoken.append({"role": message.get("role"), "content": content})
    return spoken, {"instructions": "\n\n".join(instructions)} if instructions else {}


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, Mapping))
        texts = (part.get("text", part.get("refusal")) for part in parts)
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _as_chat(item: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an item of a response's input to a chat message. Raises UsageError."""
    if item.get("type", "message") != "message":
        raise UsageError(f"input: {str(item.get('type'))[:60]!r} is nothing that is taken")
    content = item.get("content")
    if not isinstance(content, list):
        return {"role": item.get("role"), "content": content}
    return {"role": item.get("role"), "content": [_part(part) for part in content]}


def _part(part: Any) -> Any:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "refusal", "refusal": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "input_image", "image_url": str(url)}:
            return {"type": "image_url", "image_url": {"url": url}}
        case _:
            raise UsageError("input: a part is input_text, or input_image with its image_url")
