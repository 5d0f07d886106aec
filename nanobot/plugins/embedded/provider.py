"""The embedded model: a small model that answers without a key or a network, in a child process,
which loads the runner.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
from loguru import logger

from nanobot.errors import ModelUnreachable
from nanobot.plugins.common.models.named_model import EMBEDDED_MODEL
from nanobot.plugins.common.processes import end
from nanobot.plugins.embedded.prepared import prepared_answer
from nanobot.plugins.embedded.repetition import LoopWatch, without_loop
from nanobot.plugins.embedded.weights import find_weights, require
from nanobot.ports import Clock
from nanobot.providers.base import (
    ChatMessage,
    Completion,
    Delta,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    Retrying,
    TextDelta,
    Usage,
)
from nanobot.providers.model_choice import EMBEDDED
from nanobot.providers.model_facts import profile_for
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.opening import Opening
from nanobot.providers.retrying import CallPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

# Two parallel chats with 2,048 tokens each: it reads about 130 tokens a second on one core, so a
# longer prompt would only mean a longer wait.
_SLOTS = 2
_CONTEXT = 2_048
# A model this small rambles; 512 tokens take about ten seconds.
_MAX_TOKENS = 512
# Recommended by its makers. At 0.7 it sometimes did not know the capital of France.
_TEMPERATURE = 0.2
_START_SECONDS = 120.0
_RESTARTS = 2
# The environment variables the child needs: where programs, libraries and its home are. No keys.
_PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    "TMPDIR",
)


def _without_loop(message: ChatMessage) -> ChatMessage:
    """The message; an answer is cut where it began to repeat itself, because the model would
    continue the repetition.
    """
    if message.role != "assistant" or not isinstance(message.content, str):
        return message
    return msgspec.structs.replace(message, content=without_loop(message.content))


def _one_by_one(request: ModelRequest, answer: Callable[[], str]) -> Iterator[ModelRequest]:
    """A request for each unanswered message at the end, with the earlier messages and their
    answers: `answer` returns the answer to the previous request.
    """
    messages = list(request.messages)
    first = len(messages)
    while first and messages[first - 1].role == "user":
        first -= 1
    if len(messages) - first <= 1:
        yield request
        return
    before, waiting = messages[:first], messages[first:]
    for number, message in enumerate(waiting):
        if number:
            before.append(ChatMessage(role="assistant", content=answer()))
        before.append(message)
        yield msgspec.structs.replace(request, messages=tuple(before))


async def _until_loop(stream: AsyncGenerator[Delta]) -> AsyncGenerator[Delta]:
    """The deltas; text that may be the beginning of a loop is held back, and the answer ends before
    a loop.
    """
    watch = LoopWatch()
    async for delta in stream:
        if isinstance(delta, TextDelta):
            shown = watch.add(delta.text)
            if shown:
                yield TextDelta(shown)
            if watch.cut is not None:
                yield Completion(text=watch.cut)
                return
            continue
        if isinstance(delta, Retrying):
            watch = LoopWatch()
        elif isinstance(delta, Completion) and (rest := watch.end()):
            yield TextDelta(rest)
        yield delta


class _Child:
    """The running server: its process and the client connected to it."""

    def __init__(self, process: asyncio.subprocess.Process, client: OpenAICompatProvider) -> None:
        self.process = process
        self.client = client

    async def end(self) -> None:
        await self.client.close()
        await end(self.process)


class EmbeddedProvider(LLMProvider):
    """An `LLMProvider` over the embedded model: no tools, no images, short prompts.

    The child starts with the first call, once, and again if it died; it dies with this process,
    even after kill -9. Its output goes to `log_path`, or is discarded. At most two calls run at
    once; others wait. The temperature is at most 0.2. An answer ends after 512 tokens, or where it
    begins to repeat itself; repeated text in earlier answers is not shown to the model. Questions
    about the assistant itself get a prepared answer. Raises ModelMissing if weights or runner are
    not installed, ModelUnreachable if the child does not start.
    """

    def __init__(
        self,
        home: Path,
        *,
        clock: Clock,
        model: str = "",
        log_path: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._home = home
        self._clock = clock
        self._model = model or EMBEDDED_MODEL
        self._log_path = log_path
        self._environ = environ or {}
        self._child: _Child | None = None
        self._starting = asyncio.Lock()
        self._turns = asyncio.Semaphore(_SLOTS)

    def profile(self, model: str) -> ModelProfile:
        """The same for every name, because there is only one model."""
        return profile_for(EMBEDDED, model or self._model)

    @property
    def pid(self) -> int | None:
        """The child's process id while it is running."""
        child = self._child
        return child.process.pid if child and child.process.returncode is None else None

    async def warm_up(self) -> None:
        """Start the child now."""
        await self._running()

    async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Deltas, then one Completion; if the child dies during the call, it is started again.
        Consecutive messages are answered one by one, because the model would only notice the last
        of them.
        """
        answers: list[Completion] = []
        for one in _one_by_one(request, lambda: answers[-1].text):
            if answers:
                yield TextDelta("\n\n")
            async for delta in self._one_answer(one):
                if isinstance(delta, Completion):
                    answers.append(delta)
                    continue
                yield delta
                if isinstance(delta, Retrying) and answers:  # also voids the earlier answers
                    yield TextDelta("\n\n".join([*(each.text for each in answers), ""]))
        if len(answers) > 1:
            usages = [answer.usage or Usage() for answer in answers]
            usage = Usage(
                sum(usage.prompt_tokens for usage in usages),
                sum(usage.completion_tokens for usage in usages),
            )
            text = "\n\n".join(answer.text for answer in answers)
            yield msgspec.structs.replace(answers[-1], text=text, usage=usage)
        else:
            yield answers[0]

    async def _one_answer(self, request: ModelRequest) -> AsyncGenerator[Delta]:
        prepared = prepared_answer(request.messages, self._own_model())
        if prepared is not None:
            yield TextDelta(prepared)
            yield Completion(text=prepared, usage=Usage())
            return
        sent = msgspec.structs.replace(
            request,
            model=request.model or self._model,
            messages=tuple(_without_loop(message) for message in request.messages),
            tools=(),
            temperature=min(request.temperature, _TEMPERATURE),
            max_tokens=min(request.max_tokens, _MAX_TOKENS),
        )
        async with self._turns:
            for left in reversed(range(_RESTARTS + 1)):
                child = await self._running()
                try:
                    # An async generator, as `close` requires: cancellation must reach the socket.
                    stream = cast("AsyncGenerator[Delta]", child.client.chat_stream(sent))
                    async with aclosing(stream), aclosing(_until_loop(stream)) as deltas:
                        async for delta in deltas:
                            yield delta
                except ModelUnreachable:
                    if not left or not await _died(child.process):
                        raise
                else:
                    return
                yield Retrying(0.0, "the embedded model stopped and starts again")

    def _own_model(self) -> str:
        """The file of the model, if it is not the one shipped with nanobot."""
        weights = find_weights(self._home, self._model)
        own = weights is not None and weights.parent == self._home / "models"
        return f"`{weights.stem}`" if weights is not None and own else ""

    async def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.end()

    async def _running(self) -> _Child:
        async with self._starting:
            if self._child is not None and self._child.process.returncode is not None:
                await self.close()
            if self._child is None:
                self._child = await self._start()
            return self._child

    async def _start(self) -> _Child:
        weights = require(self._home, self._model)
        api_key = secrets.token_urlsafe(24)
        process = await self._spawn(weights)
        try:
            base = await _ready(process, api_key)
        except (TimeoutError, OSError, ModelUnreachable) as problem:
            await end(process)
            where = f"see {self._log_path}" if self._log_path else "no log was kept"
            raise ModelUnreachable(f"The embedded model did not start ({where}).") from problem
        except asyncio.CancelledError:
            await end(process)
            raise
        # The child is local and serves only us, so a broken connection means it died, which
        # `chat_stream` handles.
        policy = CallPolicy(attempts=2, first_token_seconds=600.0, stall_seconds=120.0)
        client = OpenAICompatProvider(
            EMBEDDED, f"{base}/v1", api_key, clock=self._clock, policy=policy
        )
        return _Child(process, client)

    async def _spawn(self, weights: Path) -> asyncio.subprocess.Process:
        environ = {name: self._environ[name] for name in _PASSED_ON if name in self._environ}
        environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        command = [sys.executable, "-m", "nanobot.plugins.embedded.server"]
        options = ["--model", weights, "--context", _CONTEXT, "--slots", _SLOTS]
        log = _open_log(self._log_path)
        try:
            return await asyncio.create_subprocess_exec(
                *command,
                *(str(option) for option in (*options, "--parent", os.getpid())),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environ,
                # Ctrl-C in the terminal is meant for the gateway, which still needs its model to
                # drain.
                start_new_session=True,
            )
        finally:
            if log >= 0:
                os.close(log)


def _open_log(path: Path | None) -> int:
    if path is None:
        return subprocess.DEVNULL
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Truncated by each new child, so that it cannot grow endlessly.
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as error:
        logger.warning("the embedded model runs without its log {}: {}", path, error.strerror)
        return subprocess.DEVNULL


async def _ready(process: asyncio.subprocess.Process, api_key: str) -> str:
    """The server's address, when it is ready."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the child was started with pipes")
    async with asyncio.timeout(_START_SECONDS):
        process.stdin.write(f"{api_key}\n".encode())
        await process.stdin.drain()
        line = (await process.stdout.readline()).decode().split()
    if len(line) != 2 or line[0] != "ready":
        raise ModelUnreachable("the child ended before it was ready")
    return line[1]


async def _died(process: asyncio.subprocess.Process) -> bool:
    """Whether the process has ended; a broken connection is often seen before its exit status."""
    try:
        async with asyncio.timeout(1.0):
            await process.wait()
    except TimeoutError:
        return False
    return True


def open_provider(opening: Opening) -> EmbeddedProvider:
    """The provider of a home."""
    return EmbeddedProvider(
        opening.home,
        clock=opening.clock,
        model=opening.choice.model,
        log_path=opening.home / "logs" / "embedded.log",
        environ=opening.environ,
    )
