"""A model that answers from a script."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

import msgspec

from nanobot.errors import ConfigError
from nanobot.plugins.kit.machine import PATIENCE
from nanobot.providers.base import (
    Completion,
    Delta,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    TextDelta,
    ToolCall,
)

_PIECE = 7


class Held:
    """A model call that streams `text` and the arguments of `say`, and hangs until `answer` is
    called.
    """

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.reached = asyncio.Event()
        self._more = asyncio.Event()
        self._answer: asyncio.Future[Completion | str | Exception] | None = None

    def say(self, text: str) -> None:
        self.text += text
        self._more.set()

    def answer(self, answer: Completion | str | Exception) -> None:
        """End the call with this result. It must have been reached."""
        if self._answer is None:
            raise AssertionError("the model was not asked yet")
        self._answer.set_result(answer)

    async def pieces(self) -> AsyncIterator[str]:
        """Yield the text as it arrives, until there is an answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._answer.add_done_callback(lambda _answer: self._more.set())
        streamed = 0
        while True:
            if streamed < len(self.text):
                yield self.text[streamed:]
                streamed = len(self.text)
            self.reached.set()
            if self._answer.done():
                return
            self._more.clear()
            await self._more.wait()

    def ended(self) -> Completion | str | Exception:
        if self._answer is None:
            raise AssertionError("the model was not asked yet")
        return self._answer.result()


Answer: TypeAlias = Completion | str | Exception | Held
Script: TypeAlias = Answer | Callable[[ModelRequest], Answer]


def asks_for(name: str, text: str = "", /, **arguments: object) -> Completion:
    """A completion that contains `text` and calls one tool."""
    call = ToolCall("call_0", name, msgspec.json.encode(arguments).decode())
    return Completion(text=text, tool_calls=(call,), finish_reason="tool_calls")


def last_text(request: ModelRequest) -> str:
    """The text of a request's last message, without the gateway's line at the top."""
    content = request.messages[-1].content
    text = content if isinstance(content, str) else ""
    head, newline, rest = text.partition("\n")
    return rest if newline and head.startswith("[") else text


def _echo(request: ModelRequest) -> Answer:
    return f"echo: {last_text(request)}"


class ScriptedProvider(LLMProvider):
    """An LLMProvider that answers from a script, then with `otherwise` (an echo).

    An answer is a text, a Completion, an exception to raise, a Held call, or a function of the
    request that returns one of these. Answers are streamed in pieces. `requests` lists the
    requests.
    """

    def __init__(
        self,
        *script: Script,
        otherwise: Callable[[ModelRequest], Answer] = _echo,
        model: ModelProfile | None = None,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.script = deque(script)
        self.closed = False
        self.otherwise = otherwise
        self._model = model or ModelProfile(name="scripted", provider="test")
        self._came = asyncio.Event()

    def profile(self, model: str) -> ModelProfile:
        """The capabilities of the model."""
        return self._model

    async def pick(self, label: str | None = None) -> tuple[ScriptedProvider, ModelProfile]:
        """The one model there is, by any label of provider `test`."""
        if label is not None and not label.startswith(f"{self._model.provider}/"):
            raise ConfigError(f"there is no model {label}")
        return self, self._model

    async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        self.requests.append(request)
        self._came.set()
        scripted = self.script.popleft() if self.script else self.otherwise
        answer = scripted(request) if callable(scripted) else scripted
        if isinstance(answer, Held):
            async for piece in answer.pieces():
                yield TextDelta(piece)
            answer = answer.ended()
        if isinstance(answer, Exception):
            raise answer
        done = Completion(text=answer) if isinstance(answer, str) else answer
        for start in range(0, len(done.text), _PIECE):
            yield TextDelta(done.text[start : start + _PIECE])
            await asyncio.sleep(0)
        yield done

    async def asked(self, times: int) -> ModelRequest:
        """Wait for the nth request and return it."""
        async with asyncio.timeout(PATIENCE):
            while len(self.requests) < times:
                self._came.clear()
                await self._came.wait()
        return self.requests[times - 1]

    async def close(self) -> None:
        self.closed = True
