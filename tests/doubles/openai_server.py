"""A scripted OpenAI-compatible server on loopback: the model's double at the wire.

In a test:          async with OpenAIServer() as server: ... server.base_url ...
As a process:       python -m tests.doubles.openai_server --port 8199

What it answers, first match:
  1. the next of `faults`, queued by `fail_with`;
  2. `script`, a callable from the request's body to an Answer (or None to go on);
  3. directives in the last user message, each on its own line or the whole text:
       say:TEXT                 answer TEXT
       think:TEXT               reasoning before the answer
       tool:NAME:JSON           call a tool (several lines: parallel calls); once its result is
                                there, the answer is the `say:` of that message, else the result
       wait:SECONDS             before the first byte
       pace:SECONDS             before each event of the stream
  4. an echo of the last user message.

Other wires (anthropic_server, gemini_server) are the same server with `routes`, `conversation`
and `frames` of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.doubles.sounds import opus

Body = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What the model says. `chunks` overrides how the text is cut."""

    text: str = ""
    reasoning: str = ""
    tool_calls: Sequence[tuple[str, str]] = ()
    finish_reason: str | None = None
    wait: float = 0.0
    pace: float = 0.0
    chunks: Sequence[str] = ()


@dataclass(frozen=True)
class Fault:
    """One request that goes wrong.

    Exactly one of: `status` (with body and headers), `raw` (sent as the whole 200 body), `pieces`
    (raw bytes, each flushed, with `pause` seconds after each), `cut_after` (that many events, then
    the connection is dropped), `hang` (nothing is sent until the client leaves), `endless` (events
    for ever), `answer` with `plain` (JSON although a stream was asked for).
    """

    status: int = 0
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    pieces: Sequence[bytes] = ()
    pause: float = 0.0
    cut_after: int | None = None
    hang: bool = False
    hang_after: int | None = None
    endless: bool = False
    answer: Answer | None = None
    plain: bool = False


Script = Callable[[Body], Answer | None]


def error_status(
    status: int, message: str = "no", code: str | None = None, **headers: str
) -> Fault:
    """An HTTP error in OpenAI's shape."""
    error = {"message": message, "type": "error", "param": None, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(status=status, body=json.dumps({"error": error}), headers=named)


def error_in_stream(message: str, code: int | str | None = None) -> Fault:
    """200, and then an error object as the first event."""
    event = {"error": {"message": message, "code": code}}
    return Fault(raw=b"data: " + json.dumps(event).encode() + b"\n\n")


def plain_json(answer: Answer) -> Fault:
    """One JSON document although a stream was asked for."""
    return Fault(answer=answer, plain=True)


def events(answer: Answer, usage: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The stream's events for an answer, without [DONE]."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if answer.reasoning:
        deltas.append({"reasoning_content": answer.reasoning})
    deltas += [{"content": piece} for piece in answer.chunks or words_of(answer.text)]
    for index, (name, arguments) in enumerate(answer.tool_calls):
        head = {"name": name, "arguments": ""}
        half = len(arguments) // 2
        call = {"index": index, "id": f"call_s{index}", "type": "function", "function": head}
        deltas.append({"tool_calls": [call]})
        for piece in (arguments[:half], arguments[half:]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    finish = answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop")
    stream = [_event([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    stream.append(_event([{"index": 0, "delta": {}, "finish_reason": finish}]))
    if usage is not None:
        stream.append(_event([], usage=usage))
    return stream


def sse(stream: Sequence[dict[str, Any]], *, done: bool = True) -> bytes:
    """The events as the bytes of a stream."""
    lines = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in stream]
    return b"".join(lines) + (b"data: [DONE]\n\n" if done else b"")


class OpenAIServer:
    """See the module's docstring. `requests` holds the bodies asked, `headers` their headers."""

    def __init__(
        self, script: Script | None = None, *, latency: float = 0.0, port: int = 0
    ) -> None:
        self.script = script
        self.latency = latency
        self.faults: deque[Fault] = deque()
        self.requests: list[Body] = []
        self.speeches: list[Body] = []
        """What was to be spoken."""
        self.mute = ""
        """Why nothing is."""
        self.raw_requests: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.models: list[str] = ["scripted"]
        self.asked = asyncio.Event()
        self.hung = asyncio.Event()
        self.client_left = asyncio.Event()
        self._port = port
        self._runner: web.AppRunner | None = None

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    # What makes the wire

    def routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/api/tags", self._tags)
        app.router.add_post("/v1/embeddings", self._embed)
        app.router.add_post("/v1/audio/transcriptions", self._transcribe)
        app.router.add_post("/v1/audio/speech", self._speak)

    def conversation(self, body: Body) -> list[dict[str, Any]]:
        """The messages asked, in OpenAI's shape."""
        return list(body.get("messages", []))

    def refusal_of(self, body: Body) -> Fault | None:
        """What the API says to a request that it does not take."""
        return None

    def wants_plain(self, body: Body) -> bool:
        return not body.get("stream")

    def frames(self, body: Body, raw: bytes, answer: Answer) -> list[bytes]:
        """The stream of an answer, event by event."""
        usage = _usage_of(raw, answer) if body.get("stream_options") else None
        stream = [sse([event], done=False) for event in events(answer, usage)]
        return [*stream, b"data: [DONE]\n\n"]

    def fail_with(self, *faults: Fault) -> None:
        """Queue faults: each spoils one request."""
        self.faults.extend(faults)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64_000_000)
        self.routes(app)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": m} for m in self.models]})

    async def _tags(self, request: web.Request) -> web.Response:
        return web.json_response({"models": [{"name": m} for m in self.models]})

    async def _embed(self, request: web.Request) -> web.Response:
        """A vector of two for each text: its length, and its place."""
        body: Body = json.loads(await request.read())
        self.requests.append(body)
        if self.faults:
            fault = self.faults.popleft()
            return web.Response(status=fault.status, text=fault.body, headers=fault.headers)
        rows = [
            {"object": "embedding", "index": i, "embedding": [float(len(text)), float(i)]}
            for i, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return web.json_response(
            {"object": "list", "data": rows, "model": body["model"], "usage": usage}
        )

    async def _transcribe(self, request: web.Request) -> web.Response:
        """Says the file's name and what was in it."""
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        if self.faults:
            fault = self.faults.popleft()
            return web.Response(status=fault.status, text=fault.body, headers=fault.headers)
        form = await request.post()
        file, model = form["file"], form["model"]
        assert isinstance(file, web.FileField)
        assert isinstance(model, str)
        speech = file.file.read().decode()
        return web.json_response({"text": f"{file.filename} by {model}: {speech}"})

    async def _speak(self, request: web.Request) -> web.Response:
        """A fifth of a second for each character; at most 4096, as documented."""
        body: Body = await request.json()
        self.speeches.append(body)
        text = str(body["input"])
        if self.mute or not 0 < len(text) <= 4096:
            return web.json_response({"error": {"message": self.mute or "input"}}, status=400)
        assert body["response_format"] == "opus"
        return web.Response(body=opus([20, 90] * 5 * len(text)), content_type="audio/ogg")

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body: Body = json.loads(raw)
        self.raw_requests.append(raw)
        self.requests.append(body)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.asked.set()
        if self.latency:
            await asyncio.sleep(self.latency)
        fault = self.faults.popleft() if self.faults else None
        if fault is None:
            fault = self.refusal_of(body)
        if fault is not None and fault.status:
            return web.Response(status=fault.status, text=fault.body, headers=fault.headers)
        answer = (fault.answer if fault else None) or self._answer(body)
        if answer.wait:
            await asyncio.sleep(answer.wait)
        plain = fault.plain if fault else self.wants_plain(body)
        if plain:
            return web.json_response(_document(answer, _usage_of(raw, answer)))
        try:
            frames = self.frames(body, raw, answer)
            return await self._stream(request, fault or Fault(), frames, answer.pace)
        except (asyncio.CancelledError, ConnectionError):
            self.client_left.set()
            raise

    def _answer(self, body: Body) -> Answer:
        if self.script is not None and (scripted := self.script(body)) is not None:
            return scripted
        return follow(self.conversation(body))

    async def _stream(
        self, request: web.Request, fault: Fault, stream: list[bytes], pace: float
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        if fault.hang:
            await self._hang()
        if fault.raw is not None:
            await response.write(fault.raw)
            return response
        for piece in fault.pieces:
            await response.write(piece)
            await asyncio.sleep(fault.pause)
        if fault.pieces:
            return response
        while fault.endless:
            await response.write(stream[len(stream) // 2] * 1_000)
        for number, frame in enumerate(stream):
            if number == fault.cut_after:
                assert request.transport is not None
                request.transport.abort()
                return response
            if number == fault.hang_after:
                await self._hang()
            await asyncio.sleep(pace)
            await response.write(frame)
        return response

    async def _hang(self) -> None:
        self.hung.set()
        await asyncio.Event().wait()


def _is_said(message: dict[str, Any]) -> bool:
    """Whether somebody said it: what the gateway adds from memory is a message of its own."""
    said = message["role"] == "user"
    return said and not _text_of(message.get("content")).startswith("[from memory")


def follow(messages: list[dict[str, Any]]) -> Answer:
    """The answer that the directives in the last user message ask for, else an echo."""
    last = next((i for i in reversed(range(len(messages))) if _is_said(messages[i])), None)
    if last is None:
        return Answer(text="(no user message)")
    text = _text_of(messages[last].get("content"))
    results = [_text_of(m.get("content")) for m in messages[last + 1 :] if m["role"] == "tool"]
    lines: list[str] = []
    thought: list[str] = []
    calls: list[tuple[str, str]] = []
    wait = pace = 0.0
    for line in text.splitlines():
        word, _, rest = line.strip().partition(":")
        if word == "say":
            lines.append(rest.strip())
        elif word == "think":
            thought.append(rest.strip())
        elif word == "wait":
            wait = float(rest)
        elif word == "pace":
            pace = float(rest)
        elif word == "tool":
            name, _, arguments = rest.partition(":")
            calls.append((name.strip(), arguments.strip() or "{}"))
    if calls and not results:
        return Answer(tool_calls=calls, reasoning="\n".join(thought), wait=wait, pace=pace)
    final = "\n".join(lines) or "\n".join(results) or ("" if thought else text)
    return Answer(text=final, reasoning="\n".join(thought), wait=wait, pace=pace)


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content or ""


def words_of(text: str) -> list[str]:
    return re.findall(r"[^ ]+ ?| +", text)


def _event(choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    head = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0}
    return {**head, "model": "scripted", "choices": choices, **more}


def _document(answer: Answer, usage: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_s{i}", "type": "function", "function": {"name": n, "arguments": a}}
            for i, (n, a) in enumerate(answer.tool_calls)
        ]
    finish = answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {**_event([choice], usage=usage), "object": "chat.completion"}


def _usage_of(raw: bytes, answer: Answer) -> dict[str, Any]:
    prompt, completion = len(raw) // 4, len(answer.text.split()) + len(answer.tool_calls) * 10
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


async def _serve(port: int, latency: float) -> None:
    async with OpenAIServer(port=port, latency=latency) as server:
        print(f"ready {server.base_url}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0)
    chosen = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(chosen.port, chosen.latency))


if __name__ == "__main__":
    main()
