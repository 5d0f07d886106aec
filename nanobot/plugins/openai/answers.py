"""Reports runs to clients of OpenAI's API: complete, or as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nanobot.messages import EventKind, RunEvent
from nanobot.plugins.common.runs.run_input import RunResult
from nanobot.plugins.openai.requests import MODEL, response_id
from nanobot.session.states import RunState

_LIMIT = "limit_"


class Pieces:
    """The text of a run as it is streamed. A retried call does not repeat text that was already
    sent.
    """

    def __init__(self) -> None:
        self.all = ""
        self._call = 0
        self._now = ""
        self._shown = ""

    def of_item(self, item: RunEvent | RunResult) -> str:
        """The new text of an event, or of the result."""
        return self.rest(item.message) if isinstance(item, RunResult) else self.of(item)

    def of(self, event: RunEvent) -> str:
        """The new text of an event."""
        text = str(event.payload.get("text", ""))
        if event.kind is not EventKind.MODEL_DELTA or not text:
            return ""
        if event.model_call != self._call:
            self._call, self._now = event.model_call, ""
            if self._shown:
                self._shown = ""
                return self._add("\n\n") + self._more(text)
        return self._more(text)

    def rest(self, message: str) -> str:
        """The part of the final answer that was not sent yet."""
        if self._shown and message.startswith(self._shown):
            return self._add(message[len(self._shown) :])
        gap = "\n\n" if self.all else ""
        return "" if message and self.all.endswith(message) else self._add(gap + message)

    def _more(self, text: str) -> str:
        self._now += text
        self._shown = self._now
        return self._add(text)

    def _add(self, text: str) -> str:
        self.all += text
        return text


class Cut:
    """A text up to the first stop sequence, piece by piece. A possible beginning of a stop sequence
    is held back until it is decided.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self.done = False
        self._stops = stops
        self._held = ""

    def of(self, text: str) -> str:
        """The text to send after adding some more."""
        if self.done:
            return ""
        self._held += text
        ends = [at for stop in self._stops if (at := self._held.find(stop)) >= 0]
        self.done = bool(ends)
        shown = self._held[: min(ends)] if ends else self._held[: self._safe()]
        self._held = "" if ends else self._held[len(shown) :]
        return shown

    def rest(self) -> str:
        """The held-back text, when no more text follows."""
        held, self._held = self._held, ""
        return held

    def _safe(self) -> int:
        """The length of the text in which no stop sequence can have begun."""
        longest = max(map(len, self._stops), default=0)
        first = max(len(self._held) - longest + 1, 0)
        for at in range(first, len(self._held)):
            if any(stop.startswith(self._held[at:]) for stop in self._stops):
                return at
        return len(self._held)


def finish_reason(result: RunResult) -> str:
    """The finish reason, in that API's terms."""
    return "length" if (result.error or "").startswith(_LIMIT) else "stop"


def failed(result: RunResult) -> str:
    """The error, if there is no answer at all; otherwise ""."""
    if result.status is RunState.COMPLETED or finish_reason(result) == "length":
        return ""
    return result.message or result.error or "the run was ended"


def chat_usage(result: RunResult) -> dict[str, int]:
    """The token usage."""
    usage = result.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def completion(result: RunResult, at: float, stops: Sequence[str] = ()) -> dict[str, Any]:
    """A complete chat completion, up to the first of the `stops`."""
    cut = Cut(stops)
    return {
        "id": f"chatcmpl-{result.run_id}",
        "object": "chat.completion",
        "created": int(at),
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": cut.of(result.message) + cut.rest(),
                    "refusal": None,
                },
                "logprobs": None,
                "finish_reason": "stop" if cut.done else finish_reason(result),
            }
        ],
        "usage": chat_usage(result),
    }


def chunk(
    run_id: str, at: float, delta: dict[str, Any], reason: str | None = None
) -> dict[str, Any]:
    """One chunk of a chat completion."""
    return {
        "id": f"chatcmpl-{run_id}",
        "object": "chat.completion.chunk",
        "created": int(at),
        "model": MODEL,
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
    }


class ChatChunks:
    """The chunks of one streamed chat completion."""

    def __init__(self, run_id: str, at: float, stops: Sequence[str], *, usage: bool) -> None:
        self._run_id = run_id
        self._at = at
        self._usage = usage
        self._pieces = Pieces()
        self._cut = Cut(stops)
        self._begun = False

    def of(self, item: RunEvent | RunResult) -> Iterator[dict[str, Any]]:
        """The chunks for a new item. Nothing is sent before there is text: until then a failure can
        still be reported as an error.
        """
        text = self._cut.of(self._pieces.of_item(item))
        if isinstance(item, RunResult):
            text += self._cut.rest()
        if not self._begun and (text or isinstance(item, RunResult)):
            self._begun = True
            yield self._chunk({"role": "assistant", "content": ""})
        if text:
            yield self._chunk({"content": text})
        if isinstance(item, RunResult):
            yield self._chunk({}, "stop" if self._cut.done else finish_reason(item))
            if self._usage:
                yield self._chunk({}) | {"choices": [], "usage": chat_usage(item)}

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return chunk(self._run_id, self._at, delta, reason)


def response(
    run_id: str,
    at: float,
    text: str | None,
    result: RunResult | None,
    before: str | None = None,
) -> dict[str, Any]:
    """A response; without a result it is in progress. `before`: the previous response that it
    continues.
    """
    status, error, why = _status(result)
    output = [] if text is None else [_item(run_id, text, status)]
    return {
        "id": response_id(run_id),
        "object": "response",
        "created_at": int(at),
        "status": status,
        "error": error,
        "incomplete_details": why,
        "instructions": None,
        "metadata": {},
        "model": MODEL,
        "output": output,
        "parallel_tool_calls": False,
        "previous_response_id": before,
        "store": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": None if result is None else _usage(result),
    }


def _status(
    result: RunResult | None,
) -> tuple[str, dict[str, str] | None, dict[str, str] | None]:
    """The status of a response, its error, and why it is incomplete."""
    if result is None:
        return "in_progress", None, None
    if why := failed(result):
        return "failed", {"code": "server_error", "message": why}, None
    if finish_reason(result) == "length":
        return "incomplete", None, {"reason": "max_output_tokens"}
    return "completed", None, None


def _usage(result: RunResult) -> dict[str, Any]:
    usage = chat_usage(result)
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage["total_tokens"],
    }


def _item(run_id: str, text: str, status: str) -> dict[str, Any]:
    return {
        "id": f"msg_{run_id}",
        "type": "message",
        "status": "incomplete" if status == "failed" else status,
        "role": "assistant",
        "content": [] if status == "in_progress" else [_part(text)],
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


class ResponseEvents:
    """The events of one streamed response, numbered. `before`: the previous response that it
    continues.
    """

    def __init__(self, run_id: str, at: float, before: str | None = None) -> None:
        self._run_id = run_id
        self._at = at
        self._before = before
        self._number = 0
        self._pieces = Pieces()

    def of(self, item: RunEvent | RunResult) -> Iterator[dict[str, Any]]:
        """The events for an item of the run; the first item begins the response."""
        if not self._number:
            yield from self._begin()
        result = item if isinstance(item, RunResult) else None
        if result is not None and failed(result):
            whole = self._whole(self._pieces.all or None, result)
            yield self._event("response.failed", response=whole)
            return
        if text := self._pieces.of_item(item):
            yield self._of_part("response.output_text.delta", delta=text, logprobs=[])
        if result is not None:
            yield from self._end(self._pieces.all, result)

    def _begin(self) -> Iterator[dict[str, Any]]:
        started = self._whole(None, None)
        yield self._event("response.created", response=started)
        yield self._event("response.in_progress", response=started)
        item = _item(self._run_id, "", "in_progress")
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._of_part("response.content_part.added", part=_part(""))

    def _end(self, text: str, result: RunResult) -> Iterator[dict[str, Any]]:
        yield self._of_part("response.output_text.done", text=text, logprobs=[])
        yield self._of_part("response.content_part.done", part=_part(text))
        whole = self._whole(text, result)
        yield self._event("response.output_item.done", output_index=0, item=whole["output"][0])
        yield self._event(f"response.{whole['status']}", response=whole)

    def _whole(self, text: str | None, result: RunResult | None) -> dict[str, Any]:
        return response(self._run_id, self._at, text, result, self._before)

    def _of_part(self, kind: str, **content: Any) -> dict[str, Any]:
        item = f"msg_{self._run_id}"
        return self._event(kind, item_id=item, output_index=0, content_index=0, **content)

    def _event(self, kind: str, **content: Any) -> dict[str, Any]:
        self._number += 1
        return {"type": kind, "sequence_number": self._number - 1, **content}
