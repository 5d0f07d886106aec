"""Model calls outside a run's main loop: reserved first, settled when their result is recorded."""

from __future__ import annotations

import asyncio

import msgspec

from nanobot.errors import (
    ModelError,
    ModelProtocolError,
    ModelUnreachable,
    NanobotError,
    OverBudget,
)
from nanobot.log_context import calling
from nanobot.plugins.common.propagation import ASIDE
from nanobot.providers.base import (
    Completion,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    Retrying,
    TextDelta,
    Usage,
)
from nanobot.session.auxiliary import AuxiliaryCall, CallAccount
from nanobot.session.store_write import StoreWrite


class AuxiliaryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call. `settled` belongs to the recorded entries."""

    text: str
    usage: Usage
    settled: StoreWrite
    completion: Completion | None = None
    """The whole answer, with its tool calls."""
    error: NanobotError | None = None
    """Why it has none."""
    late: bool = False
    """There was no time left."""


async def ask(
    account: CallAccount,
    picked: tuple[LLMProvider, ModelProfile],
    request: ModelRequest,
    *,
    until: float | None = None,
    apart: bool = False,
) -> AuxiliaryAnswer:
    """Make a call that ends by the loop time `until`. Raises OverBudget before anything is sent;
    any later failure is in the returned answer."""
    provider, profile = picked
    estimate = len(msgspec.json.encode(request.messages)) // 3
    if request.tools:
        estimate += len(msgspec.json.encode(request.tools)) // 3
    reserved = await account.start_auxiliary(
        AuxiliaryCall(
            profile=profile, estimate=estimate, max_tokens=request.max_tokens, apart=apart
        )
    )
    request = msgspec.structs.replace(request, max_tokens=reserved.max_tokens)
    stream, late = _Stream(account, estimate), False
    error: NanobotError | None = None
    try:
        async with asyncio.timeout_at(until):
            with calling(ASIDE):
                await stream.read(provider, request)
    except TimeoutError:
        error, late = ModelUnreachable("There was no answer in the time there was."), True
        usage = stream.so_far()
    except (ModelError, OverBudget) as failed:
        error, usage = failed, stream.discarded()
    else:
        usage = stream.reported()
    return AuxiliaryAnswer(
        text="" if error else stream.text,
        usage=usage,
        settled=reserved.settled(usage),
        completion=None if error else stream.completion,
        error=error,
        late=late,
    )


class _Stream:
    """The streamed part of a call's answer. Each further request is accounted for before it is
    sent: a provider sends it only when the caller asks for the item after its Retrying."""

    def __init__(self, account: CallAccount, estimate: int) -> None:
        self.text = ""
        self.usage: Usage | None = None
        self.completion: Completion | None = None
        self._account = account
        self._estimate = estimate

    def so_far(self) -> Usage:
        """Estimated usage of the streamed text."""
        return Usage(self._estimate, len(self.text.encode("utf-8", "replace")) // 3)

    def discarded(self) -> Usage:
        """Estimated usage of a request that failed: nothing, unless its answer had begun."""
        return self.so_far() if self.text else Usage()

    def reported(self) -> Usage:
        """What the provider reports; without a sensible number, the estimate."""
        told, guessed = self.usage or Usage(), self.so_far()
        if told.prompt_tokens <= 0:
            told = msgspec.structs.replace(told, prompt_tokens=guessed.prompt_tokens)
        if told.completion_tokens <= 0:
            told = msgspec.structs.replace(told, completion_tokens=guessed.completion_tokens)
        return told

    async def read(self, provider: LLMProvider, request: ModelRequest) -> None:
        async for delta in provider.chat_stream(request):
            if isinstance(delta, Retrying):
                await self._account.start_retry(self.discarded())
                self.text = ""
            elif isinstance(delta, TextDelta):
                self.text += delta.text
            elif isinstance(delta, Completion):
                self.text, self.usage, self.completion = delta.text, delta.usage, delta
        if self.completion is None:
            raise ModelProtocolError("the provider's stream ended without an answer")
