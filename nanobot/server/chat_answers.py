"""Runs as clients of OpenAI's API are told of them: whole, and piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nanobot.agent.library.run_input import RunResult
from nanobot.messages import EventKind, RunEvent
from nanobot.server.chat_requests import MODEL, response_id
from nanobot.session.states import RunState

_LIMIT = "limit_"


class Pieces:
    """The text of a run as it comes. A call that is made again repeats nothing that was seen."""

    def __init__(self) -> None:
        self.all = ""
        self._call = 0
        self._now = ""
        self._shown = ""

    def of(self, event: RunEvent) -> str:
        """What is new with an event."""
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
        """What of the final answer was not seen yet."""
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


def finish_reason(result: RunResult) -> str:
    """Why it ended, in that API's words."""
    return "length" if (result.error or "").startswith(_LIMIT) else "stop"


def failed(result: RunResult) -> str:
    """What went wrong, if there is no answer at all; "" if there is one."""
    if result.status is RunState.COMPLETED or finish_reason(result) == "length":
        return ""
    return result.message or result.error or "the run was ended"


def chat_usage(result: RunResult) -> dict[str, int]:
    """The tokens of it."""
    usage = result.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def completion(result: RunResult, at: float) -> dict[str, Any]:
    """A whole chat completion."""
    return {
        "id": f"chatcmpl-{result.run_id}",
        "object": "chat.completion",
        "created": int(at),
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": result.message},
                "finish_reason": finish_reason(result),
            }
        ],
        "usage": chat_usage(result),
    }


def chunk(run_id: str, at: float, delta: dict[str, Any], reason: str | None = None) -> Any:
    """A piece of one."""
    return {
        "id": f"chatcmpl-{run_id}",
        "object": "chat.completion.chunk",
        "created": int(at),
        "model": MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
    }


def response(run_id: str, at: float, text: str | None, result: RunResult | None) -> dict[str, Any]:
    """A response, in progress without a result."""
    done = result is not None
    output = [] if text is None else [_item(run_id, text, done=done)]
    return {
        "id": response_id(run_id),
        "object": "response",
        "created_at": int(at),
        "status": "completed" if done else "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": MODEL,
        "output": output,
        "parallel_tool_calls": False,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": None if result is None else _usage(result),
    }


def _usage(result: RunResult) -> dict[str, Any]:
    usage = chat_usage(result)
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage["total_tokens"],
    }


def _item(run_id: str, text: str, *, done: bool) -> dict[str, Any]:
    return {
        "id": f"msg_{run_id}",
        "type": "message",
        "status": "completed" if done else "in_progress",
        "role": "assistant",
        "content": [_part(text)] if done or text else [],
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


class ResponseEvents:
    """The events of one streamed response, numbered."""

    def __init__(self, run_id: str, at: float) -> None:
        self._run_id = run_id
        self._at = at
        self._number = 0

    def begin(self) -> Iterator[dict[str, Any]]:
        """Before any text."""
        started = response(self._run_id, self._at, None, None)
        yield self._event("response.created", response=started)
        yield self._event("response.in_progress", response=started)
        item = _item(self._run_id, "", done=False)
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._of_part("response.content_part.added", part=_part(""))

    def delta(self, text: str) -> dict[str, Any]:
        """Some text."""
        return self._of_part("response.output_text.delta", delta=text, logprobs=[])

    def end(self, text: str, result: RunResult) -> Iterator[dict[str, Any]]:
        """After all text."""
        yield self._of_part("response.output_text.done", text=text, logprobs=[])
        yield self._of_part("response.content_part.done", part=_part(text))
        item = _item(self._run_id, text, done=True)
        yield self._event("response.output_item.done", output_index=0, item=item)
        whole = response(self._run_id, self._at, text, result)
        yield self._event("response.completed", response=whole)

    def _of_part(self, kind: str, **content: Any) -> dict[str, Any]:
        item = f"msg_{self._run_id}"
        return self._event(kind, item_id=item, output_index=0, content_index=0, **content)

    def _event(self, kind: str, **content: Any) -> dict[str, Any]:
        self._number += 1
        return {"type": kind, "sequence_number": self._number - 1, **content}
