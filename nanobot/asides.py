"""Calls of models beside those of a run, such as for triage and for summaries.

Like any other they are reserved before they are made, so that no limit is passed by them, and
settled in the transaction that records what came of them. One that nobody heard the end of, because
its process is gone, counts as it was reserved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

import msgspec

from nanobot.errors import ModelError, ModelProtocolError, ModelUnreachable
from nanobot.providers.base import (
    Completion,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    Retrying,
    TextDelta,
    Usage,
)
from nanobot.tools.base import Write


class AsideCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call about to be made: tokens of its prompt (an estimate), and of its answer at most.
    `apart`: it comes after its run, whose own limit of cost does not concern it."""

    profile: ModelProfile
    estimate: int
    max_tokens: int
    apart: bool = False


class Took(msgspec.Struct, frozen=True):
    """What a call took in the end; of one that failed, its requests and no tokens."""

    usage: Usage
    requests: int = 1


class Reserved(Protocol):
    """A call that may be made."""

    @property
    def max_tokens(self) -> int:
        """Tokens that its answer may have, so that it fits every budget."""
        ...

    def settled(self, took: Took) -> Write:
        """What settles it, once, in whatever transaction records what came of it."""
        ...


class Free(msgspec.Struct, frozen=True):
    """See Reserved: where nobody keeps account."""

    max_tokens: int

    def settled(self, took: Took) -> Write:
        """Nothing is to be settled."""
        return self

    def write(self, connection: Any) -> None:
        """See Write."""

    def written(self) -> None:
        """See Write."""


Reserve: TypeAlias = Callable[[AsideCall], Awaitable[Reserved]]
"""Reserves a call; raises OverBudget."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a call gave; `error`: why it gave nothing (`late`: there was no time left). `settled`
    goes with what is recorded."""

    text: str
    usage: Usage
    settled: Write
    error: ModelError | None = None
    late: bool = False


async def ask(
    reserve: Reserve,
    picked: tuple[LLMProvider, ModelProfile],
    request: ModelRequest,
    *,
    until: float | None = None,
    apart: bool = False,
) -> Said:
    """Make a call, at most `until` that time of the loop. Raises OverBudget, and asks nobody then;
    whatever fails later is in what it returns."""
    provider, profile = picked
    estimate = len(msgspec.json.encode(request.messages)) // 3
    reserved = await reserve(
        AsideCall(profile=profile, estimate=estimate, max_tokens=request.max_tokens, apart=apart)
    )
    request = msgspec.structs.replace(request, max_tokens=reserved.max_tokens)
    heard, late = _Heard(), False
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
    settled = reserved.settled(Took(usage, heard.requests))
    return Said(
        text="" if error else heard.text, usage=usage, settled=settled, error=error, late=late
    )


class _Heard:
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
