"""The promises of nanobot.providers.base.LLMProvider as checks, for providers of any package.

@pytest.mark.parametrize("check", CHECKS)
async def test_a_provider_keeps_what_the_port_promises(check: Check) -> None:
    async with Endpoint() as model:
        await check(model)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol, TypeAlias, cast

from nanobot.errors import ModelError
from nanobot.plugins.kit.promises import ends_when_cancelled, that
from nanobot.providers.base import (
    Completion,
    Delta,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    Retrying,
    TextDelta,
)


class ModelUnderTest(Protocol):
    """A model, or a server that imitates one, and the provider that reaches it."""

    def provider(self) -> LLMProvider:
        """A new provider, as configured."""

    def ask(self) -> ModelRequest:
        """A prompt that it answers with several words."""

    def fail(self) -> bool:
        """From now on it refuses every call; returns False if that is impossible."""

    def hang(self) -> bool:
        """From now on it does not answer; returns False if that is impossible."""


Check: TypeAlias = Callable[[ModelUnderTest], Awaitable[None]]


@asynccontextmanager
async def _opened(model: ModelUnderTest) -> AsyncIterator[LLMProvider]:
    provider = model.provider()
    try:
        yield provider
    finally:
        await provider.close()


async def describes_its_models(model: ModelUnderTest) -> None:
    """A profile is data, for any name, at once."""
    async with _opened(model) as provider:
        for name in (model.ask().model, "never-heard-of"):
            profile = provider.profile(name)
            that(isinstance(profile, ModelProfile), "profile gives a ModelProfile")
            that(profile.provider and profile.context_tokens > 0, "it has a provider and a size")


async def streams_and_ends_with_one_completion(model: ModelUnderTest) -> None:
    """Deltas come first and concatenate to the answer's text; exactly one Completion is last."""
    async with _opened(model) as provider:
        deltas: list[Delta] = [delta async for delta in provider.chat_stream(model.ask())]
    ends = [delta for delta in deltas if isinstance(delta, Completion)]
    that(len(ends) == 1 and deltas[-1] is ends[0], "a stream ends with its delta Completion")
    starts = [at for at, delta in enumerate(deltas) if isinstance(delta, Retrying)]
    last = deltas[starts[-1] + 1 if starts else 0 :]
    text = "".join(delta.text for delta in last if isinstance(delta, TextDelta))
    that(text == ends[0].text, "the pieces are the whole text")
    that(ends[0].text.strip(), "it answers")


async def answers_whole(model: ModelUnderTest) -> None:
    """`chat` returns the whole answer of one call, and a provider can be called again."""
    async with _opened(model) as provider:
        for _ in range(2):
            answer = await provider.chat(model.ask())
            that(answer.text.strip(), "chat gives an answer")
            usage = answer.usage
            that(usage is None or usage.prompt_tokens >= 0, "token counts are not negative")
            ids = [call.id for call in answer.tool_calls]
            that(all(ids) and len(set(ids)) == len(ids), "every call has a unique id")


async def answers_side_by_side(model: ModelUnderTest) -> None:
    """Calls of several runs do not disturb each other."""
    async with _opened(model) as provider, asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(provider.chat(model.ask()), name="call") for _ in range(3)]
        await asyncio.wait(calls)
        that(all(call.result().text for call in calls), "each call gets its answer")


async def fails_in_the_words_of_the_port(model: ModelUnderTest) -> None:
    """A call that fails permanently raises a ModelError that says why."""
    async with _opened(model) as provider:
        if not model.fail():
            return
        try:
            await provider.chat(model.ask())
        except ModelError as error:
            that(str(error).strip(), "an error says what went wrong")
            return
    raise AssertionError("a call that failed raises a ModelError")


async def obeys_cancellation(model: ModelUnderTest) -> None:
    """A call that is cancelled ends at once, wherever it is."""
    async with _opened(model) as provider:
        await ends_when_cancelled(provider.chat(model.ask()), "a call")
        if model.hang():
            await ends_when_cancelled(provider.chat(model.ask()), "a call without an answer")


async def may_be_left_early(model: ModelUnderTest) -> None:
    """A caller may close the stream early, and call again."""
    async with _opened(model) as provider:
        stream = cast("AsyncGenerator[Delta]", provider.chat_stream(model.ask()))
        await anext(stream)
        await stream.aclose()
        that((await provider.chat(model.ask())).text.strip(), "the next call is answered")


async def closes_unused(model: ModelUnderTest) -> None:
    """A provider that was never called closes silently, even twice."""
    provider = model.provider()
    await provider.close()
    await provider.close()


CHECKS: tuple[Check, ...] = (
    describes_its_models,
    streams_and_ends_with_one_completion,
    answers_whole,
    answers_side_by_side,
    fails_in_the_words_of_the_port,
    obeys_cancellation,
    may_be_left_early,
    closes_unused,
)
