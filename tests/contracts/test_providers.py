"""Our providers, against the checks that are shipped for authors of others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import ModelRefused
from nanobot.plugins.embedded.provider import EmbeddedProvider
from nanobot.providers.base import (
    ChatMessage,
    Completion,
    Delta,
    LLMProvider,
    ModelRequest,
    TextDelta,
)
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.plugins import Guarded
from nanobot.providers.retrying import CallPolicy
from nanobot.system import SystemClock
from nanobot.testing import providers
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import Held, ScriptedProvider
from tests.doubles.openai_server import Fault, OpenAIServer, error_status


class Scripted:
    """See nanobot.testing.providers.ModelUnderTest."""

    def __init__(
        self, wrap: Callable[[ScriptedProvider], LLMProvider] = lambda provider: provider
    ) -> None:
        self._made = wrap
        self._open = ScriptedProvider()

    def provider(self) -> LLMProvider:
        self._open = ScriptedProvider()
        return self._made(self._open)

    def ask(self) -> ModelRequest:
        message = ChatMessage(role="user", content="one two three")
        return ModelRequest(model="scripted", messages=(message,))

    def fail(self) -> bool:
        self._open.otherwise = lambda _: ModelRefused("no")
        return True

    def hang(self) -> bool:
        self._open.otherwise = lambda _: Held()
        return True


class Served:
    """A server on loopback, and a provider that reaches it."""

    def __init__(self, server: OpenAIServer, *, litellm: bool = False) -> None:
        self._server = server
        self._litellm = litellm

    def provider(self) -> LLMProvider:
        base, policy = self._server.base_url, CallPolicy(attempts=2)
        if not self._litellm:
            return OpenAICompatProvider("acme", base, "k", clock=ManualClock(), policy=policy)
        from nanobot.plugins.litellm.provider import LiteLLMProvider  # noqa: PLC0415

        return LiteLLMProvider(
            name="openai", api_key="k", api_base=base, clock=ManualClock(), policy=policy
        )

    def ask(self) -> ModelRequest:
        message = ChatMessage(role="user", content="say:one two three")
        return ModelRequest(model="m-1", messages=(message,))

    def fail(self) -> bool:
        self._server.fail_with(*[error_status(401, "no such key")] * 9)
        return True

    def hang(self) -> bool:
        self._server.fail_with(*[Fault(hang=True)] * 9)
        return True


class Embedded:
    """The real one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def provider(self) -> LLMProvider:
        log = self._folder / "model.log"
        return EmbeddedProvider(self._folder, clock=SystemClock(), log_path=log)

    def ask(self) -> ModelRequest:
        message = ChatMessage(role="user", content="What is the capital of France?")
        return ModelRequest(model="", messages=(message,), temperature=0.0, max_tokens=24)

    def fail(self) -> bool:
        return False

    def hang(self) -> bool:
        return False


@asynccontextmanager
async def lean(folder: Path) -> AsyncIterator[providers.ModelUnderTest]:
    async with OpenAIServer() as server:
        yield Served(server)


@asynccontextmanager
async def litellm(folder: Path) -> AsyncIterator[providers.ModelUnderTest]:
    pytest.importorskip("litellm")
    async with OpenAIServer() as server:
        yield Served(server, litellm=True)


@asynccontextmanager
async def embedded(folder: Path) -> AsyncIterator[providers.ModelUnderTest]:
    yield Embedded(folder)


@asynccontextmanager
async def scripted(folder: Path) -> AsyncIterator[providers.ModelUnderTest]:
    yield Scripted()


@asynccontextmanager
async def guarded(folder: Path) -> AsyncIterator[providers.ModelUnderTest]:
    yield Scripted(lambda inner: Guarded("guarded", inner, ProviderSettings()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("check", providers.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "model",
    [
        lean,
        pytest.param(litellm, marks=pytest.mark.process),
        pytest.param(embedded, marks=pytest.mark.slow),
        scripted,
        guarded,
    ],
    ids=lambda factory: factory.__name__,
)
async def test_a_provider_keeps_what_the_port_promises(
    tmp_path: Path,
    model: Callable[[Path], AbstractAsyncContextManager[providers.ModelUnderTest]],
    check: providers.Check,
) -> None:
    async with model(tmp_path) as opened:
        await check(opened)


class Flawed(ScriptedProvider):
    """Says one thing and gives another."""

    async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        yield TextDelta("one")
        yield Completion(text="two")


class Fragile(ScriptedProvider):
    """Fails in words of its own."""

    async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        raise KeyError("no")
        yield TextDelta("never")


@pytest.mark.parametrize(
    ("broken", "check", "kind", "promise"),
    [
        (
            Flawed,
            providers.streams_and_ends_with_one_completion,
            AssertionError,
            "the pieces are the whole text",
        ),
        (Fragile, providers.fails_in_the_words_of_the_port, KeyError, "no"),
    ],
)
async def test_a_providers_broken_promise_is_named(
    broken: type[ScriptedProvider], check: providers.Check, kind: type[Exception], promise: str
) -> None:
    with pytest.raises(kind, match=promise):
        await check(Scripted(lambda _: broken()))
