"""Asking a model beside a run: reserved before, settled with whatever is recorded of it."""

from __future__ import annotations

import asyncio

import msgspec

from nanobot.errors import ModelError, ModelProtocolError, ModelUnreachable
from nanobot.ports import StoreWrite
from nanobot.providers.base import (
    Completion,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    Retrying,
    TextDelta,
    Usage,
)
from nanobot.session.auxiliary import AuxiliaryCall, AuxiliaryUsage, Reserve


class AuxiliaryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a call gave; `error`: why it gave nothing (`late`: there was no time left). `settled`
    goes with what is recorded."""

    text: str
    usage: Usage
    settled: StoreWrite
    error: ModelError | None = None
    late: bool = False


async def ask(
    reserve: Reserve,
    picked: tuple[LLMProvider, ModelProfile],
    request: ModelRequest,
    *,
    until: float | None = None,
    apart: bool = False,
) -> AuxiliaryAnswer:
    """Make a call, at most `until` that time of the loop. Raises OverBudget, and asks nobody then;
    whatever fails later is in what it returns."""
    provider, profile = picked
    estimate = len(msgspec.json.encode(request.messages)) // 3
    reserved = await reserve(
        AuxiliaryCall(
            profile=profile, estimate=estimate, max_tokens=request.max_tokens, apart=apart
        )
    )
    request = msgspec.structs.replace(request, max_tokens=reserved.max_tokens)
    heard, late = _Streamed(), False
    error: ModelError | None = None
    try:
        async with asyncio.timeout_at(until):
            await heard.listen(provider, request)
    except TimeoutError:
        error, late = ModelUnreachable("There was no answer in the time there was."), True
        usage = Usage(estimate, _tokens(heard.text))
    except ModelError as failed:
        error, usage = failed, Usage()
    else:
        usage = heard.usage or Usage(estimate, _tokens(heard.text))
    settled = reserved.settled(AuxiliaryUsage(usage, heard.requests))
    return AuxiliaryAnswer(
        text="" if error else heard.text, usage=usage, settled=settled, error=error, late=late
    )


class _Streamed:
    """What came of a call so far."""

    def __init__(self) -> None:
        self.text = ""
        self.usage: Usage | None = None
        self.requests = 1

    async def listen(self, provider: LLMProvider, request: ModelRequest) -> None:
        done = False
        async for delta in provider.chat_stream(request):
            if isinstance(delta, Retrying):
                self.text, self.requests = "", self.requests + 1
            elif isinstance(delta, TextDelta):
                self.text += delta.text
            elif isinstance(delta, Completion):
                self.text, self.usage, done = delta.text, delta.usage, True
        if not done:
            raise ModelProtocolError("the provider's stream ended without an answer")


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // 3
